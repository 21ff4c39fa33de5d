fn main() {
    let args: Vec<std::path::PathBuf> = std::env::args().skip(1).map(Into::into).collect();
    let t = std::time::Instant::now();
    match stallscope::import::open(
        &args,
        &Default::default(),
        &stallscope::import::Progress::new(),
    ) {
        Err(e) => println!("ERR {:?} {e}\n  cmd {:?}", e.kind, e.command),
        Ok(l) => {
            println!(
                "{} spans {} lanes {} sources {:?}",
                l.trace.spans().len(),
                l.trace.lanes().len(),
                l.trace.sources().len(),
                t.elapsed()
            );
            for p in l.trace.processes() {
                println!(
                    "  P {} {:?} {:?} role {:?} parent {:?} rank {}",
                    p.pid, p.name, p.host, p.role, p.parent, p.rank
                );
            }
            for n in &l.report.notices {
                println!(
                    "  N {n} [{}] {:?}",
                    n.code,
                    n.path.as_ref().map(|p| p.file_name())
                );
            }
            if args.len() == 1 && l.trace.sources().len() == 1 {
                for f in &l.report.files {
                    println!("  F {} {:?}", f.format, f.facts);
                }
            }
        }
    }
}
