//! Launching a test of the ground: this executable is all the roles of its run.

/// Makes a run's folder, launches a harness with these words and the folder, and takes the folder away again. Whether it
/// went well.
pub fn is_well(name: &str, words: &[&str]) -> bool {
    let folder = std::env::temp_dir().join(format!("nemesis-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let words = words.iter().map(|word| word.to_string());
    let ended = ground::launch(ground::Launch {
        run_dir: folder.clone(),
        harness_args: words.chain([folder.to_string_lossy().into_owned()]).collect(),
        owner: None,
    });
    std::fs::remove_dir_all(&folder).unwrap();
    println!("{name}: {ended:?}");
    ended == Ok(ground::Ended::Exited(0))
}
