//! What versions of Apache Kafka do otherwise than the proposal, by the system's name: `kafka-3.6.1`. Any other system
//! is taken to do as the proposal says.

use history::Header;

/// The first version that moves the high watermark only where the ISR has min ISR members.
const STRICT_HIGH_WATERMARK: (u32, u32) = (3, 7);
/// The first version that clears all ELRs whenever min ISR is set.
const CLEARS_ELR: (u32, u32) = (4, 0);

/// A system's ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Profile {
    /// Whether what a consumer was shown stays: the high watermark waits for min ISR replicas.
    pub strict_high_watermark: bool,
    /// Whether ELRs are cleared whenever min ISR is set.
    pub clears_elr: bool,
}

impl Profile {
    /// That of a run's system.
    pub fn of(header: &Header) -> Profile {
        let version = version(&header.system);
        Profile {
            strict_high_watermark: version.is_none_or(|version| version >= STRICT_HIGH_WATERMARK),
            clears_elr: version.is_some_and(|version| version >= CLEARS_ELR),
        }
    }
}

/// The version in a system's name.
fn version(system: &str) -> Option<(u32, u32)> {
    let (_, rest) = system.split_once("kafka")?;
    let numbers = rest.trim_start_matches(|c: char| !c.is_ascii_digit());
    let (major, rest) = numbers.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn a_version_is_read_off_the_name() {
        assert_eq!(version("kafka-3.6.1"), Some((3, 6)));
        assert_eq!(version("apache-kafka-4.3"), Some((4, 3)));
        assert_eq!(version("reference"), None);
        assert_eq!(version("kafka"), None);
    }
}
