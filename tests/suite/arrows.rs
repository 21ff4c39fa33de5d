//! Where arrows end when their target does not show, unfinished spans, and labels that lie on nothing else.

use crate::common::timeline;

use stallscope::model::Role;
use stallscope::time::TimeRange;
use stallscope::view::{
    ArrowEnd, DrawList, Font, Item, LayoutInput, Links, Metrics, Options, Rect, RowState, Rows,
    Scroll, SectionKind, Size, Target, Theme, Viewport, label, layout,
};
use timeline::{MS, Maker, STEP, Scene, training_loop};

const HEADER: f32 = 200.0;

struct Look<'a> {
    view: Viewport,
    rows: &'a Rows,
    theme: Theme,
    height: f32,
    scroll: f32,
    links: Option<&'a Links>,
}

impl<'a> Look<'a> {
    fn new(scene: &'a Scene, range: TimeRange) -> Self {
        let mut view = Viewport::new(scene.trace.extent(), 1_200.0);
        view.zoom_to(range, 0.0);
        Self {
            view,
            rows: &scene.rows,
            theme: Theme::dark(),
            height: 4_000.0,
            scroll: 0.0,
            links: None,
        }
    }

    fn draw(&self, scene: &Scene) -> DrawList {
        layout(&LayoutInput {
            trace: &scene.trace,
            analysis: &scene.analysis,
            rows: self.rows,
            viewport: &self.view,
            theme: &self.theme,
            size: Size::new(self.view.width() + HEADER, self.height),
            metrics: Metrics {
                header_width: HEADER,
                pixels_per_point: 1.0,
            },
            scroll: Scroll {
                lanes: self.scroll,
                ..Scroll::default()
            },
            selection: None,
            selected: None,
            hovered: None,
            links: self.links,
            hits: None,
            options: Options::default(),
        })
    }
}

fn items(list: &DrawList) -> impl Iterator<Item = &Item> {
    list.sections.iter().flat_map(|s| &s.items)
}

#[test]
fn arrows_end_in_a_dot_on_a_collapsed_group() {
    let scene = training_loop(4);
    let links = Links::of(&scene.trace, &scene.analysis, scene.span("forward", 1));
    let ends = |rows: &Rows| -> Vec<(ArrowEnd, f32)> {
        let mut look = Look::new(&scene, TimeRange::new(STEP, 2 * STEP));
        (look.rows, look.links) = (rows, Some(&links));
        let list = look.draw(&scene);
        let top = list.areas.lanes.y0;
        items(&list)
            .filter_map(|i| match i {
                Item::Arrow { to, end, .. } => Some((*end, to.y - top)),
                _ => None,
            })
            .collect()
    };
    let open = ends(&scene.rows);
    assert!((10..=20).contains(&open.len()), "{} arrows", open.len());
    assert!(open.iter().all(|e| e.0 == ArrowEnd::Head));
    let tree = scene.rows.tree();
    let gpu = tree.ids().find(|&id| tree.node(id).title == "GPU 0");
    let gpu = gpu.expect("there is one");
    let mut state = RowState::default();
    state.toggle(tree, gpu);
    let rows = Rows::new(tree.clone(), &state);
    let row = rows.rows().iter().find(|r| r.node == gpu).expect("shows");
    let closed = ends(&rows);
    assert_eq!(closed.len(), open.len());
    for (end, y) in closed {
        assert_eq!(end, ArrowEnd::Dot);
        assert!((y - (row.y + row.height / 2.0)).abs() < 0.01);
    }
    // Hidden by hand there is nowhere to lead to: that is counted.
    let mut state = RowState::default();
    state.hide(tree, gpu);
    let rows = Rows::new(tree.clone(), &state);
    assert!(ends(&rows).is_empty());
    let mut look = Look::new(&scene, TimeRange::new(STEP, 2 * STEP));
    (look.rows, look.links) = (&rows, Some(&links));
    assert_eq!(look.draw(&scene).stats.arrows_dropped, 40);
}

#[test]
fn the_edge_names_the_lane_that_is_scrolled_away() {
    let scene = training_loop(4);
    let links = Links::of(&scene.trace, &scene.analysis, scene.span("forward", 1));
    let mut look = Look::new(&scene, TimeRange::new(STEP, 2 * STEP));
    look.links = Some(&links);
    let named = |look: &Look<'_>| {
        let list = look.draw(&scene);
        let canvas = list.areas.lanes;
        let on = |t: &&stallscope::view::Text| {
            t.text == "stream 7" && t.at.x > canvas.x0 && t.at.y < canvas.y0 + 18.0
        };
        list.texts().filter(on).count()
    };
    assert_eq!(named(&look), 0);
    look.scroll = 60.0;
    look.height = 300.0;
    assert_eq!(named(&look), 1);
}

#[test]
fn an_unfinished_span_fades_where_it_stops_and_nowhere_else() {
    let mut m = Maker::new();
    let process = m.process(1, Role::Main, 0);
    let lane = m.thread(process, 1, "main", Role::Main);
    let open = m.span(lane, "cpu_op", "aten::open", 10 * MS, 10 * MS);
    m.b.mark_unfinished(open);
    let gpu = m.gpu(0, 0, &[7])[0];
    m.span(gpu, "kernel", "k", 0, 100 * MS);
    let scene = Scene::new(m.b);
    for (range, fades) in [
        (TimeRange::new(0, 100 * MS), 1),
        (TimeRange::new(20 * MS, 60 * MS), 0),
    ] {
        let mut look = Look::new(&scene, range);
        look.theme = Theme::light();
        let list = look.draw(&scene);
        let fade: Vec<Rect> = items(&list)
            .filter_map(|i| match i {
                Item::Fade { rect, .. } => Some(*rect),
                _ => None,
            })
            .collect();
        assert_eq!(fade.len(), fades, "{range:?}");
        for f in fade {
            assert!(f.x1 <= list.areas.lanes.x1 && f.width() > 20.0);
            // No border closes it.
            let bordered = items(&list)
                .any(|i| matches!(i, Item::Outline { rect, .. } if !rect.clip(f).is_empty()));
            assert!(!bordered);
        }
    }
}

#[test]
fn labels_of_tails_lie_on_no_span_and_no_other_tail() {
    let mut m = Maker::new();
    let process = m.process(1, Role::Main, 0);
    let lane = m.thread(process, 1, "main", Role::Main);
    let gpu = m.gpu(0, 0, &[7])[0];
    for i in 0..6 {
        // The second tail reaches over the end of the first; behind the third, a span follows soon.
        for (name, start, from, to) in [
            ("forward", 0, 1, 20),
            ("backward", 2, 20, 28),
            ("optimizer", 60, 61, 90),
        ] {
            let t = (i * 100 + start) * MS;
            m.span(lane, "user_annotation", name, t, t + MS);
            let call = m.span(
                lane,
                "cuda_runtime",
                "cudaLaunchKernel",
                t + 1_000,
                t + 9_000,
            );
            let (from, to) = ((i * 100 + from) * MS, (i * 100 + to) * MS);
            let kernel = m.span(gpu, "kernel", "k", from, to);
            m.b.link_launch(call, kernel);
        }
    }
    let scene = Scene::new(m.b);
    assert_eq!(scene.analysis.tails().len(), 18);
    let mut seen = 0;
    for zoom in [1.0, 1.7, 3.0, 5.5, 11.0, 40.0] {
        let mut look = Look::new(&scene, scene.trace.extent());
        look.view.zoom_at(420.0, zoom);
        let list = look.draw(&scene);
        let tails: Vec<Rect> = list
            .targets
            .iter()
            .filter(|t| matches!(t.1, Target::Tail(_)))
            .map(|t| t.0)
            .collect();
        for t in list.texts().filter(|t| t.text.contains(" → GPU +")) {
            seen += 1;
            // Further out, tails that begin next to each other are left out.
            let forward = t.text.starts_with("forw");
            assert!(zoom < 5.0 || !forward, "the tail of backward lies there");
            let width = t.text.chars().count() as f32 * label::MONO_ADVANCE;
            let own = Rect::new(
                t.at.x,
                t.at.y - 4.0,
                t.at.x + width.min(t.max_width),
                t.at.y + 4.0,
            );
            assert!(own.x1 <= list.areas.lanes.x1 + 0.5, "{} is cut", t.text);
            let on_tail = tails.iter().find(|r| !r.clip(own).is_empty());
            assert_eq!(on_tail, None, "{} at zoom {zoom}", t.text);
            let on_span = list.marks.iter().find(|m| !m.rect.clip(own).is_empty());
            assert_eq!(on_span, None, "{} at zoom {zoom}", t.text);
        }
    }
    assert!(seen > 5, "only {seen} labels");
    // Both began before the window: that they are cut at the same place does not make them neighbours.
    let list = Look::new(&scene, TimeRange::new(110 * MS, 125 * MS)).draw(&scene);
    let tails = |t: &&(Rect, Target)| matches!(t.1, Target::Tail(_));
    assert_eq!(list.targets.iter().filter(tails).count(), 2);
    assert_eq!(list.stats.tails_dropped, 0);
}

#[test]
fn chips_stand_at_the_edge_and_on_no_label() {
    let scene = training_loop(4);
    let backward = scene.span("backward", 1);
    let links = Links::of(&scene.trace, &scene.analysis, backward);
    let call = scene.trace.spans().start(links.arrows[30].from);
    let mut chips = 0;
    for theme in [Theme::dark(), Theme::light()] {
        for (a, b, scroll) in [(-2, 2, 0.0), (-40, 20, 60.0), (20, 60, 0.0), (-2, 2, 40.0)] {
            let range = TimeRange::new(call + a * MS / 2, call + b * MS / 2);
            let mut look = Look::new(&scene, range);
            look.theme = theme.clone();
            (look.links, look.scroll, look.height) = (Some(&links), scroll, 300.0);
            let list = look.draw(&scene);
            let (mut plates, mut labels) = (Vec::new(), Vec::new());
            for section in &list.sections {
                for item in &section.items {
                    match item {
                        Item::Rect { rect, fill }
                            if section.kind == SectionKind::Overlay
                                && *fill == theme.lane
                                && rect.height() == 16.0 =>
                        {
                            plates.push(*rect);
                        }
                        Item::Text(t) if section.kind == SectionKind::Lanes => {
                            let width = t.text.chars().count() as f32 * label::MONO_ADVANCE;
                            let (y0, y1) = (t.at.y - 4.0, t.at.y + 4.0);
                            let rect = Rect::new(t.at.x, y0, t.at.x + width, y1);
                            if t.font == Font::Label && !t.text.contains("GPU +") {
                                labels.push((rect, &t.text));
                            }
                        }
                        _ => {}
                    }
                }
            }
            chips += plates.len();
            for plate in plates {
                let under = labels.iter().find(|l| !l.0.clip(plate).is_empty());
                assert_eq!(under, None, "{plate:?}");
            }
        }
    }
    assert!(chips >= 16, "only {chips}");
}
