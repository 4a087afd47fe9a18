//! Formats by name, and by a file's first bytes.

use history::Format;

#[test]
fn each_name_leads_back_to_its_format() {
    for format in Format::ALL {
        assert_eq!(format.text().parse(), Ok(format));
        assert_eq!(format.to_string(), format.text());
    }
    let unknown = "jepsen".parse::<Format>().unwrap_err();
    assert!(
        unknown.starts_with("jepsen is no format of histories: there are jepsen-edn, "),
        "{unknown}"
    );
}

#[test]
fn formats_of_sessions_have_no_real_time() {
    let without: Vec<_> = Format::ALL
        .into_iter()
        .filter(|format| !format.has_real_time())
        .collect();
    assert_eq!(
        without,
        [Format::PlumeText, Format::AwditTestText, Format::DbcopBincode]
    );
}

#[test]
fn the_first_bytes_tell_the_format() {
    let guesses = [
        ("[{:type :invoke}]", Format::JepsenEdn),
        ("; note\n({:type :invoke})", Format::JepsenEdn),
        ("#jepsen.history.Op{:index 0}", Format::JepsenEdn),
        ("{:type :ok, :f :txn, :value {:key 1}}", Format::JepsenEdn),
        ("\u{feff}[{\"type\": \"ok\"}]", Format::JepsenJson),
        ("{\"type\" : \"ok\"}\n", Format::JepsenJson),
        ("{\"model\": \"kafka\", \"history\": []}", Format::CaseJson),
        (
            "{\"schema\":1,\"ackall_version\":\"0.1.0\",\"seed\":1}\n",
            Format::Ackall,
        ),
        (
            "INFO  jepsen.util - 0\t:invoke\t:read\tnil",
            Format::PorcupineEtcdLog,
        ),
        (
            "12:00 INFO jepsen.util - 0 :invoke :read nil",
            Format::PorcupineEtcdLog,
        ),
        (
            "{:process 2, :type :invoke, :f :get, :key \"0\", :value nil}\n",
            Format::PorcupineKvEdn,
        ),
        ("w(1,1,0,0)\n", Format::PlumeText),
        ("r 12 0\n-----\n", Format::AwditTestText),
        ("-----\nw 1 1", Format::AwditTestText),
        ("\u{1}\0\0\0\0\0\0\0", Format::DbcopBincode),
    ];
    for (first, format) in guesses {
        assert_eq!(Format::guess(first.as_bytes(), ""), Some(format), "{first}");
    }
}

#[test]
fn where_they_do_not_tell_the_name_does_or_nothing() {
    assert_eq!(Format::guess(b"", "histories/a.edn"), Some(Format::JepsenEdn));
    assert_eq!(Format::guess(b"what", "a.log"), Some(Format::PorcupineEtcdLog));
    assert_eq!(Format::guess(b"what is this", "a.txt"), None);
    assert_eq!(Format::guess(b"", ""), None);
}
