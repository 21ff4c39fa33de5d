//! The `stallscope` program.

fn main() {}
