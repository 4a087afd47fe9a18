//! A role's listeners: where it listens, what others are told, and which one the other brokers use.
//!
//! Kafka's rules: names are unique, and so are ports; each name has a protocol; what is advertised is also listened on;
//! the listener of `inter.broker.listener.name` is advertised. Where that property says nothing it is the listener
//! PLAINTEXT, or the only one there is.

use super::address::Listener;
use super::file::Values;

const LISTENERS: &str = "listeners";
const ADVERTISED: &str = "advertised.listeners";
const INTER_BROKER: &str = "inter.broker.listener.name";
const PROTOCOLS: &str = "listener.security.protocol.map";
/// The listener that brokers use among themselves where nothing is said.
const USUAL: &str = "PLAINTEXT";

/// A listener beside the one that nodes use among themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoreListener {
    /// Where it listens.
    pub listener: Listener,
    /// What its clients are told; none where it is not advertised.
    pub advertised: Option<Listener>,
}

/// All of a role's listeners.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listeners {
    /// Where other nodes come in.
    pub listener: Listener,
    /// What they are told.
    pub advertised: Listener,
    /// The others.
    pub more: Vec<MoreListener>,
}

/// What is wrong, in which property.
pub type Wrong = (&'static str, String);

impl Listeners {
    /// Reads those of a role: the controllers' own, or those that are not theirs.
    pub fn of(values: &Values, is_controller: bool) -> Result<Self, Wrong> {
        let listening = served(values, LISTENERS, is_controller)?;
        let told = if values.list(ADVERTISED).is_empty() {
            listening.clone()
        } else {
            served(values, ADVERTISED, is_controller)?
        };
        unique(&listening, true).map_err(|why| (LISTENERS, why))?;
        unique(&told, false).map_err(|why| (ADVERTISED, why))?;
        if is_controller && listening.len() > 1 {
            return Err((
                LISTENERS,
                format!("A controller serves one listener; it names {}.", listening.len()),
            ));
        }
        protocols(values, &listening)?;
        if let Some(stray) = told.iter().find(|one| named(&listening, &one.name).is_none()) {
            return Err((ADVERTISED, format!("{} is not among the listeners.", stray.name)));
        }
        let own = own_name(values, is_controller, &listening)?;
        let advertised = named(&told, &own).ok_or_else(|| {
            (
                ADVERTISED,
                format!("{own}, which other nodes use, is not among them."),
            )
        })?;
        let more = listening
            .iter()
            .filter(|one| one.name != own)
            .map(|one| MoreListener {
                listener: one.clone(),
                advertised: named(&told, &one.name).cloned(),
            });
        Ok(Self {
            // It was found among the listeners by its name.
            listener: named(&listening, &own).unwrap_or(advertised).clone(),
            advertised: advertised.clone(),
            more: more.collect(),
        })
    }
}

/// The name of the listener that other nodes use.
fn own_name(values: &Values, is_controller: bool, listening: &[Listener]) -> Result<String, Wrong> {
    let said = values.text(INTER_BROKER);
    let [only] = listening else {
        let name = if said.is_empty() { USUAL } else { said };
        return match named(listening, name) {
            Some(_) => Ok(name.to_owned()),
            None => Err((
                INTER_BROKER,
                format!("There is no listener {name} among several: say which one brokers use."),
            )),
        };
    };
    if !is_controller && !said.is_empty() && said != only.name {
        return Err((
            INTER_BROKER,
            format!("There is no listener {said}; there is {}.", only.name),
        ));
    }
    Ok(only.name.clone())
}

fn served(values: &Values, property: &'static str, is_controller: bool) -> Result<Vec<Listener>, Wrong> {
    let controllers = values.list("controller.listener.names");
    let mut fitting = Vec::new();
    for text in values.list(property) {
        let listener =
            Listener::parse(text).ok_or_else(|| (property, format!("'{text}' is not NAME://host:port.")))?;
        if controllers.contains(&listener.name.as_str()) == is_controller {
            fitting.push(listener);
        }
    }
    if fitting.is_empty() {
        return Err((property, "It names no listener that this role serves.".into()));
    }
    Ok(fitting)
}

fn named<'a>(listeners: &'a [Listener], name: &str) -> Option<&'a Listener> {
    listeners.iter().find(|listener| listener.name == name)
}

/// Port 0 is any that is free, as often as it stands there.
fn unique(listeners: &[Listener], ports: bool) -> Result<(), String> {
    for (n, one) in listeners.iter().enumerate() {
        let earlier = &listeners[..n];
        if named(earlier, &one.name).is_some() {
            return Err(format!("{} occurs twice.", one.name));
        }
        if ports && one.port != 0 && earlier.iter().any(|other| other.port == one.port) {
            return Err(format!("Port {} occurs twice.", one.port));
        }
    }
    Ok(())
}

fn protocols(values: &Values, listening: &[Listener]) -> Result<(), Wrong> {
    let known: Vec<&str> = values
        .list(PROTOCOLS)
        .iter()
        .filter_map(|entry| entry.split(':').next())
        .collect();
    match listening
        .iter()
        .find(|listener| !known.contains(&listener.name.as_str()))
    {
        Some(stray) => Err((
            PROTOCOLS,
            format!("The listener {} has no protocol in it.", stray.name),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Listeners, Wrong> {
        Listeners::of(&Values::parse("it", text).unwrap(), false)
    }

    const MAP: &str =
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,HOST:PLAINTEXT";

    #[test]
    fn brokers_may_listen_for_others_too() {
        let found = read(&format!(
            "{MAP}\nlisteners=HOST://10.0.0.1:9192,PLAINTEXT://10.0.0.1:9092\n\
             advertised.listeners=PLAINTEXT://10.0.0.1:9092,HOST://127.0.0.1:40001"
        ));
        let found = found.unwrap();
        assert_eq!((found.listener.port, found.advertised.port), (9092, 9092));
        assert_eq!(found.more.len(), 1);
        let told = found.more[0].advertised.as_ref().unwrap();
        assert_eq!(
            (told.name.as_str(), told.host.as_str(), told.port),
            ("HOST", "127.0.0.1", 40001)
        );
        let other = read(&format!(
            "{MAP}\nlisteners=HOST://:9192,PLAINTEXT://:9092\nadvertised.listeners=HOST://h:1\n\
             inter.broker.listener.name=HOST"
        ));
        let other = other.unwrap();
        assert_eq!(other.listener.name, "HOST");
        assert_eq!(
            other.more[0].advertised, None,
            "a listener need not be advertised"
        );
    }

    #[test]
    fn the_only_one_is_used_whatever_its_name() {
        let found = read(&format!("{MAP}\nlisteners=HOST://h:1")).unwrap();
        assert_eq!(found.advertised.name, "HOST");
        assert_eq!(found.more, []);
    }

    #[test]
    fn what_cannot_be_names_its_property() {
        for (text, property) in [
            ("listeners=CONTROLLER://h:1", LISTENERS),
            ("listeners=PLAINTEXT://h:1,PLAINTEXT://h:2", LISTENERS),
            ("listeners=PLAINTEXT://h:1,HOST://h:1", LISTENERS),
            ("listeners=PLAINTEXT://h:1,OTHER://h:2", PROTOCOLS),
            (
                "listeners=PLAINTEXT://h:1\nadvertised.listeners=HOST://h:2",
                ADVERTISED,
            ),
            (
                "listeners=PLAINTEXT://h:1,HOST://h:2\nadvertised.listeners=HOST://h:2",
                ADVERTISED,
            ),
            (
                "listeners=PLAINTEXT://h:1,HOST://h:2\ninter.broker.listener.name=OTHER",
                INTER_BROKER,
            ),
            (
                "listeners=HOST://h:2\ninter.broker.listener.name=OTHER",
                INTER_BROKER,
            ),
        ] {
            let (wrong, why) = read(&format!("{MAP}\n{text}")).unwrap_err();
            assert_eq!(wrong, property, "{text}: {why}");
        }
    }
}
