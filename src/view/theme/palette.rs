//! Measures the palette: contrast by WCAG 2, distance by CIEDE2000, colour-vision deficiency by the matrices of
//! Machado, Oliveira and Fernandes (2009) at full severity.

use super::{Swatch, Theme};
use crate::view::geom::Rgba;

const NORMAL: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
const PROTAN: [[f64; 3]; 3] = [
    [0.152_286, 1.052_583, -0.204_868],
    [0.114_503, 0.786_281, 0.099_216],
    [-0.003_882, -0.048_116, 1.051_998],
];
const DEUTAN: [[f64; 3]; 3] = [
    [0.367_322, 0.860_646, -0.227_968],
    [0.280_085, 0.672_501, 0.047_413],
    [-0.011_820, 0.042_940, 0.968_881],
];
const TRITAN: [[f64; 3]; 3] = [
    [1.255_528, -0.076_749, -0.178_779],
    [-0.078_411, 0.930_809, 0.147_602],
    [0.004_733, 0.691_367, 0.303_900],
];

fn linear(c: Rgba) -> [f64; 3] {
    [c.0[0], c.0[1], c.0[2]].map(|v| {
        let v = f64::from(v) / 255.0;
        if v <= 0.04045 {
            v / 12.92
        } else {
            ((v + 0.055) / 1.055).powf(2.4)
        }
    })
}

fn contrast(a: Rgba, b: Rgba) -> f64 {
    let light = |c: Rgba| {
        let [r, g, b] = linear(c);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let (a, b) = (light(a), light(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

fn seen(c: Rgba, by: &[[f64; 3]; 3]) -> [f64; 3] {
    let l = linear(c);
    let mut out = [0.0; 3];
    for (row, slot) in by.iter().zip(&mut out) {
        *slot = (0..3).map(|j| row[j] * l[j]).sum::<f64>().clamp(0.0, 1.0);
    }
    lab(out)
}

fn lab([r, g, b]: [f64; 3]) -> [f64; 3] {
    let f = |t: f64| {
        if t > 0.008_856 {
            t.cbrt()
        } else {
            7.787 * t + 16.0 / 116.0
        }
    };
    let x = f((0.412_456_4 * r + 0.357_576_1 * g + 0.180_437_5 * b) / 0.950_47);
    let y = f(0.212_672_9 * r + 0.715_152_2 * g + 0.072_175_0 * b);
    let z = f((0.019_333_9 * r + 0.119_192_0 * g + 0.950_304_1 * b) / 1.088_83);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

/// CIEDE2000, names as in Sharma, Wu and Dalal (2005).
fn distance([l1, a1, b1]: [f64; 3], [l2, a2, b2]: [f64; 3]) -> f64 {
    let mean_c = f64::midpoint(a1.hypot(b1), a2.hypot(b2));
    let c7 = mean_c.powi(7);
    let g = 0.5 * (1.0 - (c7 / (c7 + 25_f64.powi(7))).sqrt());
    let (a1, a2) = ((1.0 + g) * a1, (1.0 + g) * a2);
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let hue = |a: f64, b: f64| b.atan2(a).to_degrees().rem_euclid(360.0);
    let (h1, h2) = (hue(a1, b1), hue(a2, b2));
    let mut dh = h2 - h1;
    if dh > 180.0 {
        dh -= 360.0;
    } else if dh < -180.0 {
        dh += 360.0;
    }
    let d_hue = 2.0 * (c1 * c2).sqrt() * (dh / 2.0).to_radians().sin();
    let (l, c) = (f64::midpoint(l1, l2), f64::midpoint(c1, c2));
    let mut h = f64::midpoint(h1, h2);
    if (h1 - h2).abs() > 180.0 {
        h += if h1 + h2 < 360.0 { 180.0 } else { -180.0 };
    }
    let cos = |deg: f64| deg.to_radians().cos();
    let t = 1.0 - 0.17 * cos(h - 30.0) + 0.24 * cos(2.0 * h) + 0.32 * cos(3.0 * h + 6.0)
        - 0.20 * cos(4.0 * h - 63.0);
    let sl = 1.0 + 0.015 * (l - 50.0).powi(2) / (20.0 + (l - 50.0).powi(2)).sqrt();
    let (sc, sh) = (1.0 + 0.045 * c, 1.0 + 0.015 * c * t);
    let c7 = c.powi(7);
    let rt = -2.0
        * (c7 / (c7 + 25_f64.powi(7))).sqrt()
        * (60.0 * (-((h - 275.0) / 25.0).powi(2)).exp())
            .to_radians()
            .sin();
    let (x, y, z) = ((l2 - l1) / sl, (c2 - c1) / sc, d_hue / sh);
    (x * x + y * y + z * z + rt * y * z).sqrt()
}

fn nearest(theme: &Theme, by: &[[f64; 3]; 3]) -> f64 {
    let mut least = f64::INFINITY;
    for (i, a) in Swatch::ALL.iter().enumerate() {
        for b in &Swatch::ALL[..i] {
            let d = distance(seen(theme.swatch(*a), by), seen(theme.swatch(*b), by));
            least = least.min(d);
        }
    }
    least
}

#[test]
fn the_formula_gives_published_values() {
    let d = distance([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485]);
    assert!((d - 2.0425).abs() < 1e-4, "{d}");
    let d = distance([50.0, 2.5, 0.0], [73.0, 25.0, -18.0]);
    assert!((d - 27.1492).abs() < 1e-4, "{d}");
    assert!((contrast(Rgba::hex(0), Rgba::hex(0x00FF_FFFF)) - 21.0).abs() < 1e-9);
}

#[test]
fn fills_are_told_apart_by_everybody() {
    for theme in Theme::ALL {
        for (by, least) in [
            (&NORMAL, 21.5),
            (&PROTAN, 12.1),
            (&DEUTAN, 11.5),
            (&TRITAN, 10.8),
        ] {
            let d = nearest(&theme, by);
            assert!(d >= least, "{}: {d:.2} < {least}", theme.name);
        }
    }
}

#[test]
fn labels_and_texts_are_readable() {
    for theme in Theme::ALL {
        for swatch in Swatch::ALL {
            let c = contrast(theme.label(swatch), theme.swatch(swatch));
            assert!(c >= 5.1, "{swatch:?}, {}: {c:.2}", theme.name);
        }
        for back in [theme.panel, theme.canvas, theme.lane] {
            for (text, least) in [(theme.text, 7.0), (theme.weak, 4.5), (theme.warning, 4.5)] {
                let c = contrast(text, back);
                assert!(c >= least, "{}: {c:.2} < {least}", theme.name);
            }
        }
        for back in theme.steps {
            assert!(contrast(theme.text, back) >= 7.0);
        }
        // Labels of waits lie on 30 % of the fill, and may reach over what is not recorded.
        let wait = theme.swatch(Swatch::Wait).percent(30).over(theme.lane);
        let grey = theme.unrecorded.percent(45).over(theme.lane);
        assert!(contrast(theme.text, wait) >= 7.0);
        assert!(contrast(theme.text, grey) >= 4.5);
        assert!(contrast(theme.on_select, theme.select) >= 4.5);
    }
}

#[test]
fn shapes_stand_out_from_what_is_behind() {
    let light = Theme::light();
    for swatch in Swatch::ALL {
        let c = contrast(light.outline(light.swatch(swatch)), light.lane);
        assert!(c >= 4.2, "outline of {swatch:?}: {c:.2}");
        let dark = Theme::dark();
        let c = contrast(dark.swatch(swatch), dark.lane);
        assert!(c >= 3.0, "{swatch:?} on dark: {c:.2}");
    }
    for theme in Theme::ALL {
        let wait = theme.swatch(Swatch::Wait);
        assert!(contrast(wait, theme.lane) >= 3.8);
        let line = theme.hatch().over(wait);
        assert!(contrast(line, wait) >= 2.3, "{:.2}", contrast(line, wait));
        assert!(contrast(theme.select, theme.lane) >= 3.0);
        assert!(contrast(theme.hit, theme.canvas) >= 2.6);
    }
}
