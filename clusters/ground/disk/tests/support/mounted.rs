//! A stream of random operations through real mounts of a disk: one mount a life.
use super::Home;
use super::mount::Mounted;
use super::streams::{InFolder, LIVES, Met, Stream};
use disk::{Mode, Profile};

/// Panics where anything is not legal. In write-back mode most of what was not synced comes when the power is gone.
pub fn mounted(seed: u64, profile: Profile, mode: Mode) -> Met {
    let m = Mounted::on(Home::in_memory(), mode);
    let mut stream = Stream::new(seed, profile, &m.home.paths().backing);
    let mut met = Met::default();
    for life in 0..LIVES {
        m.with(|mnt| {
            let mut place = InFolder::new(mnt);
            stream.live(&mut place);
            m.disk.power_off();
            // What was written and not synced is closed only now.
            drop(place);
        });
        let policy = stream.policy(None);
        let loss = m.disk.settle(life, policy).unwrap();
        met.add(stream.settled(&m.home, policy, &loss));
    }
    met
}
