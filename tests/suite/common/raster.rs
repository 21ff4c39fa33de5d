//! The project's own rasteriser as a renderer of egui_kittest: snapshots without display, GPU or driver.

use stallscope::export::raster::Raster;

/// Draws what a harness shows.
#[derive(Default)]
pub struct CpuRenderer {
    raster: Raster,
}

impl egui_kittest::TestRenderer for CpuRenderer {
    fn handle_delta(&mut self, delta: &mut egui::TexturesDelta) {
        self.raster.apply(delta);
    }

    fn render(
        &mut self,
        ctx: &egui::Context,
        output: &egui::FullOutput,
    ) -> Result<image::RgbaImage, String> {
        let scale = output.pixels_per_point;
        let primitives = ctx.tessellate(output.shapes.clone(), scale);
        let points = ctx.content_rect().size();
        let size = [points.x, points.y].map(|v| (v * scale).round() as usize);
        let image = self
            .raster
            .render(&primitives, size, scale, egui::Color32::BLACK);
        let side = |n: usize| u32::try_from(n).map_err(|e| e.to_string());
        image::RgbaImage::from_raw(side(image.width)?, side(image.height)?, image.rgba)
            .ok_or_else(|| "the picture has another size than its pixels".to_owned())
    }
}
