//! Topics: what is refused, and where replicas go.

use super::*;

#[test]
fn topics_are_checked() {
    let mut world = World::new(1, 3);
    let create = |world: &World, change: &dyn Fn(&mut CreateTopic)| {
        let mut request = CreateTopic {
            name: "t".into(),
            topic_id: TOPIC,
            placement: Placement::Automatic {
                partitions: 4,
                replication_factor: 2,
                shift: 5,
            },
            configs: BTreeMap::new(),
        };
        change(&mut request);
        world.controller.create_topic(&request)
    };
    let outcome = create(&world, &|_| ());
    assert_eq!(outcome.reply.as_ref().unwrap().partitions, 4);
    use ErrorCode::*;
    let assigned = |replicas: &[&[i32]]| Placement::Assigned(replicas.iter().map(|r| r.to_vec()).collect());
    for (change, code) in [
        (&|r: &mut CreateTopic| r.name = String::from("a/b"), InvalidTopic),
        (&|r| r.placement = assigned(&[]), InvalidReplicaAssignment),
        (&|r| r.placement = assigned(&[&[0, 0]]), InvalidReplicaAssignment),
        (&|r| r.placement = assigned(&[&[0, 9]]), InvalidReplicaAssignment),
        (
            &|r| r.placement = assigned(&[&[0, 1], &[0]]),
            InvalidReplicaAssignment,
        ),
        (
            &|r| r.configs = BTreeMap::from([("x".into(), "1".into())]),
            InvalidConfig,
        ),
        (
            &|r| r.configs = BTreeMap::from([(MIN_INSYNC_REPLICAS.into(), "0".into())]),
            InvalidConfig,
        ),
    ] as [(&dyn Fn(&mut CreateTopic), ErrorCode); 7]
    {
        assert_eq!(create(&world, change).reply.unwrap_err().0, code);
    }
    let automatic = |partitions, replication_factor| Placement::Automatic {
        partitions,
        replication_factor,
        shift: 0,
    };
    assert_eq!(
        create(&world, &|r| r.placement = automatic(0, 1))
            .reply
            .unwrap_err()
            .0,
        InvalidPartitions
    );
    assert_eq!(
        create(&world, &|r| r.placement = automatic(1, 4))
            .reply
            .unwrap_err()
            .0,
        InvalidReplicationFactor
    );
    world.append(outcome.records);
    assert_eq!(create(&world, &|_| ()).reply.unwrap_err().0, TopicAlreadyExists);
    world.fence(0);
    let fenced = create(&world, &|r| {
        (r.name, r.placement) = ("u".into(), assigned(&[&[0]]))
    });
    assert_eq!(fenced.reply.unwrap_err().0, InvalidReplicaAssignment);
}

#[test]
fn replicas_go_round_the_unfenced_brokers_from_the_shift_on() {
    let mut world = World::new(1, 4);
    world.fence(1);
    let request = CreateTopic {
        name: "t".into(),
        topic_id: TOPIC,
        placement: Placement::Automatic {
            partitions: 4,
            replication_factor: 2,
            shift: 7,
        },
        configs: BTreeMap::new(),
    };
    let outcome = world.controller.create_topic(&request);
    world.append(outcome.records);
    let replicas = |partition| {
        let image = world.controller.image();
        image.partition(TOPIC, partition).unwrap().replicas.clone()
    };
    assert_eq!(replicas(0), [2, 3]);
    assert_eq!(replicas(1), [3, 0]);
    assert_eq!(replicas(2), [0, 2]);
    assert_eq!(replicas(3), [2, 3]);
    world.replays();
}

#[test]
fn fenced_replicas_of_an_assignment_are_not_in_sync_and_do_not_lead() {
    let mut world = World::new(1, 3);
    world.fence(0);
    world.topic(&[0, 1, 2], 2);
    assert_eq!(world.state(), (1, vec![1, 2], vec![]));
}
