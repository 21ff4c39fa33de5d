//! What the rasteriser must draw to the pixel: coverage, clipping, blending, gradients, broken input.

use egui::epaint::{ClippedPrimitive, Mesh, Primitive, Vertex, WHITE_UV};
use egui::{Color32, Pos2, Rect};

use super::{Image, Raster, blend};

fn draw(mesh: Mesh, size: [usize; 2], clip: Rect) -> Image {
    let primitives = [ClippedPrimitive {
        clip_rect: clip,
        primitive: Primitive::Mesh(mesh),
    }];
    Raster::new().render(&primitives, size, 1.0, Color32::BLACK)
}

fn everywhere() -> Rect {
    Rect::from_min_max(Pos2::ZERO, Pos2::new(1e4, 1e4))
}

fn triangles(corners: &[(f32, f32)], color: Color32) -> Mesh {
    let mut mesh = Mesh::default();
    for (i, &(x, y)) in corners.iter().enumerate() {
        mesh.vertices.push(Vertex {
            pos: Pos2::new(x, y),
            uv: WHITE_UV,
            color,
        });
        mesh.indices.push(u32::try_from(i).unwrap());
    }
    mesh
}

fn count(image: &Image, color: [u8; 4]) -> usize {
    image.rgba.chunks_exact(4).filter(|p| **p == color).count()
}

#[test]
fn a_rectangle_covers_exactly_its_pixels() {
    let mut mesh = Mesh::default();
    mesh.add_colored_rect(
        Rect::from_min_max(Pos2::new(2.0, 1.0), Pos2::new(7.0, 4.0)),
        Color32::RED,
    );
    let image = draw(mesh, [10, 6], everywhere());
    assert_eq!(count(&image, [255, 0, 0, 255]), 15);
    assert_eq!(image.pixel(2, 1), [255, 0, 0, 255]);
    assert_eq!(image.pixel(6, 3), [255, 0, 0, 255]);
    assert_eq!(image.pixel(7, 3), [0, 0, 0, 255]);
    assert_eq!(image.pixel(2, 4), [0, 0, 0, 255]);
}

#[test]
fn a_pixel_belongs_to_a_rectangle_when_its_centre_does() {
    for (x0, x1, wide) in [
        (2.5, 7.5, 5),
        (2.4, 7.4, 5),
        (2.6, 7.6, 5),
        (2.6, 3.4, 0),
        (2.4, 2.6, 1),
    ] {
        let mut mesh = Mesh::default();
        mesh.add_colored_rect(
            Rect::from_min_max(Pos2::new(x0, 0.0), Pos2::new(x1, 1.0)),
            Color32::RED,
        );
        let image = draw(mesh, [10, 1], everywhere());
        assert_eq!(count(&image, [255, 0, 0, 255]), wide, "{x0}..{x1}");
    }
}

#[test]
fn triangles_that_share_edges_cover_each_pixel_once() {
    // A fan around an inner point, with all corners between pixels: half-transparent, so that a pixel that was drawn
    // twice, or not at all, shows.
    let half = Color32::from_rgba_premultiplied(100, 0, 0, 128);
    let ring = [
        (1.3, 2.2),
        (14.0, 0.5),
        (19.5, 9.5),
        (17.0, 18.5),
        (6.5, 19.0),
        (0.5, 11.0),
    ];
    for center in [(8.0, 9.0), (8.5, 9.5), (10.25, 7.75)] {
        let mut corners = Vec::new();
        for i in 0..ring.len() {
            corners.extend([center, ring[i], ring[(i + 1) % ring.len()]]);
        }
        let image = draw(triangles(&corners, half), [20, 20], everywhere());
        let once = blend([0, 0, 0, 255], [100, 0, 0, 128]);
        let covered = count(&image, once);
        let outside = count(&image, [0, 0, 0, 255]);
        assert_eq!(covered + outside, 400);
        // The polygon's area is 3e+02 pixels.
        assert!((265..=277).contains(&covered), "{covered}");
        // The same shape drawn from another centre covers the same pixels.
        let again = draw(
            triangles(&[ring[0], ring[2], ring[4]], half),
            [20, 20],
            everywhere(),
        );
        assert!(count(&again, once) < covered);
    }
}

#[test]
fn both_halves_of_a_rectangle_equal_the_rectangle() {
    let half = Color32::from_rgba_premultiplied(0, 90, 0, 99);
    let (a, b) = ((2.5, 1.5), (9.5, 6.5));
    let corners = [a, (b.0, a.1), b, a, b, (a.0, b.1)];
    let image = draw(triangles(&corners, half), [12, 8], everywhere());
    let once = blend([0, 0, 0, 255], half.to_array());
    assert_eq!(count(&image, once), 35);
    // As two meshes they are two triangles instead of a rectangle.
    let primitives = [&corners[..3], &corners[3..]].map(|c| ClippedPrimitive {
        clip_rect: everywhere(),
        primitive: Primitive::Mesh(triangles(c, half)),
    });
    let other = Raster::new().render(&primitives, [12, 8], 1.0, Color32::BLACK);
    assert_eq!(other.rgba, image.rgba);
}

#[test]
fn nothing_is_drawn_outside_the_clip_rectangle() {
    let mut mesh = Mesh::default();
    mesh.add_colored_rect(everywhere(), Color32::RED);
    let clip = Rect::from_min_max(Pos2::new(3.0, 2.0), Pos2::new(5.0, 70.0));
    let image = draw(mesh, [8, 130], clip);
    assert_eq!(count(&image, [255, 0, 0, 255]), 2 * 68);
}

#[test]
fn blending_is_premultiplied_and_rounded() {
    assert_eq!(blend([10, 20, 30, 255], [0; 4]), [10, 20, 30, 255]);
    assert_eq!(blend([10, 20, 30, 255], [1, 2, 3, 255]), [1, 2, 3, 255]);
    assert_eq!(
        blend([200, 100, 0, 255], [64, 64, 64, 128]),
        [164, 114, 64, 255]
    );
    assert_eq!(blend([255; 4], [255, 0, 0, 0]), [255; 4]);
}

#[test]
fn colours_run_evenly_between_corners() {
    let mut mesh = triangles(
        &[
            (0.0, 0.0),
            (256.0, 0.0),
            (0.0, 2.0),
            (0.0, 2.0),
            (256.0, 0.0),
            (256.0, 2.0),
        ],
        Color32::BLACK,
    );
    for i in [1, 4, 5] {
        mesh.vertices[i].color = Color32::from_rgb(255, 0, 0);
    }
    let image = draw(mesh, [256, 2], everywhere());
    for x in 0..256_usize {
        let red = i32::from(image.pixel(x, 1)[0]);
        assert!((red - i32::try_from(x).unwrap()).abs() <= 1, "{x}: {red}");
    }
}

#[test]
fn broken_meshes_draw_nothing_and_do_not_panic() {
    let mut mesh = triangles(
        &[(f32::NAN, 0.0), (1e30, -1e30), (f32::INFINITY, 5.0)],
        Color32::RED,
    );
    mesh.indices.extend([0, 1, 900, 7]);
    let image = draw(mesh, [4, 4], everywhere());
    assert_eq!(image.rgba.len(), 64);
    assert_eq!(draw(Mesh::default(), [0, 0], everywhere()).rgba.len(), 0);
}
