//! The controller that is to vote: from its own configuration and `meta.properties`, as Kafka's tool learns of
//! it, or from options.

use super::args::AddVoterArgs;
use crate::error::Error;
use client::calls::Listener;
use client::{TopicId, topic_id_from_text};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A controller that is to vote.
#[derive(Debug, PartialEq, Eq)]
pub struct NewVoter {
    /// Its id.
    pub node: i32,
    /// Its folder's id.
    pub directory: TopicId,
    /// The cluster its folder belongs to, where that was read.
    pub cluster_id: Option<String>,
    /// Where it listens.
    pub listeners: Vec<Listener>,
}

/// The file in a folder that says whose it is.
const META_PROPERTIES: &str = "meta.properties";

impl NewVoter {
    /// As the command line says.
    pub fn of(args: &AddVoterArgs) -> Result<NewVoter, Error> {
        if let Some(config) = &args.config {
            return NewVoter::read(config);
        }
        // The command line's own rules have all three, where there is no file.
        let directory_id = args.directory_id.as_deref().unwrap_or_default();
        let listener = |text: &String| {
            listener(text).ok_or_else(|| {
                Error::usage(
                    format!("reading --listener {text}"),
                    "it is no NAME://HOST:PORT",
                    "--listener CONTROLLER://10.0.0.4:9093",
                )
            })
        };
        Ok(NewVoter {
            node: args.id.unwrap_or_default(),
            directory: directory("--directory-id", directory_id)?,
            cluster_id: None,
            listeners: args.listener.iter().map(listener).collect::<Result<_, _>>()?,
        })
    }

    /// As its configuration and its folder say.
    fn read(path: &Path) -> Result<NewVoter, Error> {
        let config = Properties::read(path, "--config names a server.properties")?;
        let node = config.required("node.id")?;
        let node: i32 = node
            .parse()
            .map_err(|_| config.bad("node.id", "it is no number"))?;
        let roles = config.list("process.roles");
        if !roles.contains(&"controller") {
            return Err(config.bad("process.roles", "only a controller can vote"));
        }
        let listeners = config.controller_listeners()?;
        let folder = config.metadata_folder()?;
        let meta = Properties::read(
            &folder.join(META_PROPERTIES),
            "format the folder first, with --no-initial-controllers",
        )?;
        if meta.required("node.id")? != node.to_string() {
            return Err(meta.bad("node.id", &format!("{} says {node}", path.display())));
        }
        let id = meta.required("directory.id")?;
        Ok(NewVoter {
            node,
            directory: directory(&format!("directory.id of {}", meta.path.display()), id)?,
            cluster_id: Some(meta.required("cluster.id")?.to_owned()),
            listeners,
        })
    }
}

/// A folder's id in its text form.
pub fn directory(where_from: &str, text: &str) -> Result<TopicId, Error> {
    topic_id_from_text(text).filter(|id| !id.is_nil()).ok_or_else(|| {
        Error::usage(
            format!("reading {where_from} {text}"),
            "it is no folder's id: 16 bytes in URL-safe base64 without padding, 22 characters",
            "`ackall admin quorum describe` shows those of voters, meta.properties (directory.id) any",
        )
    })
}

/// `NAME://HOST:PORT`; the host of an IPv6 address stands in brackets.
fn listener(text: &str) -> Option<Listener> {
    let (name, rest) = text.split_once("://")?;
    let (host, port) = rest.rsplit_once(':')?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = port.parse().ok().filter(|port| *port > 0)?;
    (!name.is_empty() && !host.is_empty()).then(|| Listener {
        name: name.to_owned(),
        host: host.to_owned(),
        port,
    })
}

/// A file of `key=value` lines.
struct Properties {
    path: PathBuf,
    values: BTreeMap<String, String>,
}

impl Properties {
    fn read(path: &Path, next: &str) -> Result<Properties, Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| Error::usage(format!("reading {}", path.display()), e, next))?;
        let pair = |line: &str| {
            let line = line.trim();
            if line.starts_with(['#', '!']) {
                return None;
            }
            let (key, value) = line.split_once('=')?;
            Some((key.trim().to_owned(), value.trim().to_owned()))
        };
        Ok(Properties {
            path: path.to_owned(),
            values: text.lines().filter_map(pair).collect(),
        })
    }

    fn bad(&self, key: &str, why: &str) -> Error {
        let value = self.values.get(key).map(String::as_str).unwrap_or_default();
        Error::usage(
            format!("reading {}: {key}={value}", self.path.display()),
            why,
            "correct the file, or say --id, --directory-id and --listener instead",
        )
    }

    fn required(&self, key: &str) -> Result<&str, Error> {
        match self.values.get(key) {
            Some(value) if !value.is_empty() => Ok(value),
            _ => Err(self.bad(key, "it is not there")),
        }
    }

    fn list(&self, key: &str) -> Vec<&str> {
        let value = self.values.get(key).map(String::as_str).unwrap_or_default();
        value
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect()
    }

    /// Each of the controllers' listeners, as it is advertised, else as it is bound.
    fn controller_listeners(&self) -> Result<Vec<Listener>, Error> {
        let mut found = Vec::new();
        // Kafka demands the name where there is a controller; the reference cluster has this default.
        let mut names = self.list("controller.listener.names");
        if names.is_empty() {
            names.push("CONTROLLER");
        }
        for name in names {
            let begins = format!("{name}://");
            let of = |key: &'static str| {
                let texts = self.list(key);
                let text = texts.into_iter().find(|text| text.starts_with(&begins))?;
                Some((key, text))
            };
            if let Some((key, text)) = of("advertised.listeners").or_else(|| of("listeners")) {
                let listener = listener(text)
                    .ok_or_else(|| self.bad(key, &format!("'{text}' has no host and port to connect to")))?;
                found.push(listener);
            }
        }
        if found.is_empty() {
            return Err(self.bad("listeners", "none of controller.listener.names is among them"));
        }
        Ok(found)
    }

    fn metadata_folder(&self) -> Result<PathBuf, Error> {
        ["metadata.log.dir", "log.dirs", "log.dir"]
            .into_iter()
            .find_map(|key| self.list(key).first().map(PathBuf::from))
            .ok_or_else(|| self.bad("log.dirs", "it is not there"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("ackall-new-voter-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn read(&self, config: &str, meta: &str) -> Result<NewVoter, Error> {
            let path = self.0.join("server.properties");
            let folder = format!("log.dirs={}\n", self.0.display());
            fs::write(&path, config.replace("{folder}\n", &folder)).unwrap();
            fs::write(self.0.join(META_PROPERTIES), meta).unwrap();
            NewVoter::read(&path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const CONFIG: &str = "# c\nprocess.roles = controller\nnode.id=103\ncontroller.listener.names=CONTROLLER,SECOND\n\
                          listeners=CONTROLLER://:9093,SECOND://[::1]:9095\n\
                          advertised.listeners=CONTROLLER://host:9094\n{folder}\n";
    const META: &str = "version=1\ncluster.id=night\nnode.id=103\ndirectory.id=AAAAAAAAAAAAAAAAAAAD6A\n";

    #[test]
    fn a_new_voter_is_known_by_its_files() {
        let folder = Folder::new("good");
        let voter = folder.read(CONFIG, META).unwrap();
        assert_eq!((voter.node, voter.cluster_id.as_deref()), (103, Some("night")));
        assert_eq!(voter.directory, TopicId::from_u128(1000));
        let listeners: Vec<_> = voter
            .listeners
            .iter()
            .map(|listener| (listener.host.as_str(), listener.port))
            .collect();
        assert_eq!(listeners, [("host", 9094), ("::1", 9095)]);
    }

    #[test]
    fn files_that_contradict_each_other_are_refused() {
        let folder = Folder::new("bad");
        for (config, meta) in [
            (CONFIG.replace("node.id=103", "node.id=x"), META.to_owned()),
            (CONFIG.replace("node.id=103", "node.id=104"), META.to_owned()),
            (CONFIG.replace("= controller", "= broker"), META.to_owned()),
            (CONFIG.replace("advertised", "# "), META.to_owned()),
            (CONFIG.replace("{folder}", ""), META.to_owned()),
            (CONFIG.to_owned(), META.replace("AAAAAAD6A", "x")),
            (CONFIG.to_owned(), META.replace("cluster.id=night", "")),
        ] {
            let error = folder.read(&config, &meta).unwrap_err();
            assert_eq!(error.status, crate::error::Status::Usage, "{error}");
            assert_eq!(error.to_string().lines().count(), 3, "{error}");
        }
        fs::remove_file(folder.0.join(META_PROPERTIES)).unwrap();
        let error = NewVoter::read(&folder.0.join("server.properties")).unwrap_err();
        assert_eq!(error.status, crate::error::Status::Usage, "{error}");
    }

    #[test]
    fn listeners_need_a_host_and_a_port() {
        assert!(listener("CONTROLLER://h:1").is_some());
        for bad in ["", "h:1", "C://h", "C://:1", "C://h:0", "C://h:99999", "://h:1"] {
            assert_eq!(listener(bad), None, "{bad}");
        }
    }
}
