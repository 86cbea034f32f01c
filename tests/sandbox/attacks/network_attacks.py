"""Attacks that talk to the host, or through it: judged by what the host's sockets received."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from attack_kinds import as_root, attack, program, setting
from foreign_descriptors import families_held
from host_listeners import NetlinkListener, TcpListener, UdpListener, UnixListener

if TYPE_CHECKING:
    from attack_scene import Scene


@attack("network")
def a_port_of_the_host_is_connected_to(scene: Scene) -> str:
    with TcpListener(scene) as listener:
        scene.script("sockets", "tcp", f"127.0.0.1|{listener.port}", "evil")
        return listener.close()


@attack("network")
def a_datagram_is_sent_to_a_port_of_the_host(scene: Scene) -> str:
    with UdpListener(scene) as listener:
        scene.script("sockets", "udp", f"127.0.0.1|{listener.port}", "evil")
        return listener.close()


@attack("network")
def the_other_internet_protocol_is_taken(scene: Scene) -> str:
    try:
        listeners = TcpListener(scene, "::1"), UdpListener(scene, "::1")
    except OSError as error:
        pytest.skip(f"this host has no IPv6: {error}")
    with listeners[0] as stream, listeners[1] as datagram:
        scene.script("sockets", "tcp6", f"::1|{stream.port}", "evil")
        scene.script("sockets", "udp6", f"::1|{datagram.port}", "evil")
        return stream.close() + datagram.close()


@attack("network")
def a_secret_is_asked_for_as_a_host_name(scene: Scene) -> str:
    """A name server that is named by its address gets the whole name, whether it exists or not."""
    query = (
        "import socket; q = b'\\x12\\x34\\x01\\0\\0\\x01\\0\\0\\0\\0\\0\\0\\x04evil\\0\\0\\x01\\0\\x01'; "
        "socket.socket(2, 2).sendto(q, ('127.0.0.1', PORT))"
    )
    with UdpListener(scene) as listener:
        scene.run(f'/usr/bin/python3 -c "{query.replace("PORT", str(listener.port))}"')
        return listener.close()


@attack("network", program("curl"))
def a_proxy_of_the_environment_is_used(scene: Scene) -> str:
    with TcpListener(scene) as listener:
        scene.run(
            "curl -sm 3 http://example.invalid/?evil", environment={"http_proxy": f"http://127.0.0.1:{listener.port}"}
        )
        return listener.close()


@attack("network")
def an_inherited_connection_is_used(scene: Scene) -> str:
    with TcpListener(scene) as listener:
        scene.open()
        scene.desk.ask("leave_open", directory=str(scene.outside), file=str(scene.kept), port=listener.port)
        try:
            scene.script("sockets", "inherited", "", "evil")
        finally:
            scene.desk.ask("close_left")
        return listener.close()


@attack("network")
def a_port_is_opened_for_the_host(scene: Scene) -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    got = b""
    with (
        scene.meanwhile(scene.line_of("listening", "tcp", port, "evil")),
        suppress(OSError),
        socket.create_connection(("127.0.0.1", port), 1) as client,
    ):
        got = client.recv(100)
    return got.decode()


@attack("network")
def a_socket_is_left_for_programs_of_the_host(scene: Scene) -> str:
    """As an agent for keys that answers before the real one. Also where there is a network."""
    scene.open(network=True)
    got = b""
    with (
        scene.meanwhile(scene.line_of("listening", "unix", scene.ws / "agent", "evil")),
        suppress(OSError),
        socket.socket(socket.AF_UNIX) as client,
    ):
        client.settimeout(1)
        client.connect(str(scene.ws / "agent"))
        got = client.recv(100)
    return got.decode()


@attack("network")
def a_unix_socket_of_the_host_is_connected_to(scene: Scene) -> str:
    with UnixListener(scene) as listener:
        scene.script("sockets", "stream", listener.path, "evil")
        return listener.close()


@attack("network")
def a_unix_socket_of_the_host_is_connected_to_with_a_network(scene: Scene) -> str:
    with UnixListener(scene) as listener:
        scene.open(network=True)
        scene.script("sockets", "stream", listener.path, "evil")
        return listener.close()


@attack("network")
def a_datagram_is_sent_to_a_unix_socket(scene: Scene) -> str:
    with UnixListener(scene, socket.SOCK_DGRAM) as listener:
        scene.open(network=True)
        scene.script("sockets", "datagram", listener.path, "evil")
        return listener.close()


@attack("network")
def an_abstract_socket_is_connected_to_with_a_network(scene: Scene) -> str:
    with UnixListener(scene, abstract=True) as listener:
        scene.open(network=True)
        scene.script("sockets", "stream", listener.path, "evil")
        return listener.close()


@attack("network")
def an_abstract_socket_gets_a_datagram(scene: Scene) -> str:
    with UnixListener(scene, socket.SOCK_DGRAM, abstract=True) as listener:
        scene.script("sockets", "datagram", listener.path, "evil")
        return listener.close()


@attack("network")
def a_pair_of_sockets_is_turned_to_the_host(scene: Scene) -> str:
    with UnixListener(scene, socket.SOCK_DGRAM) as listener:
        scene.open(network=True)
        scene.script("sockets", "pair", listener.path, "evil")
        return listener.close()


@attack("network")
def a_pair_of_sockets_is_turned_to_an_abstract_name(scene: Scene) -> str:
    with UnixListener(scene, socket.SOCK_DGRAM, abstract=True) as listener:
        scene.open(network=True)
        scene.script("sockets", "pair", listener.path, "evil")
        return listener.close()


@attack("network", setting("kernel/io_uring_disabled", 0))
def a_ring_makes_and_connects_the_socket(scene: Scene) -> str:
    with UnixListener(scene) as listener:
        scene.open(network=True)
        scene.script("io_uring", listener.path, "evil")
        return listener.close()


@attack("network")
def the_calls_of_32_bits_make_and_connect_the_socket(scene: Scene) -> str:
    with UnixListener(scene) as listener:
        scene.open(network=True)
        scene.script("foreign_calls", "i386", listener.path, "evil")
        return listener.close()


@attack("network")
def the_second_table_of_calls_makes_and_connects_the_socket(scene: Scene) -> str:
    with UnixListener(scene) as listener:
        scene.open(network=True)
        scene.script("foreign_calls", "x32", listener.path, "evil")
        return listener.close()


@attack("network")
def sockets_of_other_families_are_made(scene: Scene) -> str:
    """To a hypervisor, to hardware, to the kernel's ciphers, to the wire: whatever this host has."""
    scene.open(network=True)
    with scene.holding("families") as processes:
        held = families_held(each.pid for each in processes)
    internet = {(socket.AF_INET, 1), (socket.AF_INET, 2), (socket.AF_INET6, 1), (socket.AF_INET6, 2)}
    netlink = {(socket.AF_NETLINK, kind) for kind in (2, 3)}
    return ", ".join(f"{family} of type {kind}" for family, kind in sorted(held - internet - netlink))


@attack("network")
def a_message_goes_over_netlink_to_a_process_of_the_host(scene: Scene) -> str:
    with NetlinkListener(scene) as listener:
        scene.script("sockets", "netlink", listener.port, "evil")
        return listener.close()


@attack("network", as_root, program("ip"))
def the_host_gets_another_address(scene: Scene) -> str:
    address = "192.0.2.77/32"
    undo = ["ip", "address", "del", address, "dev", "lo"]
    scene.on_close(lambda: subprocess.run(undo, capture_output=True, check=False))
    scene.open(network=True)
    scene.run(f"ip address add {address} dev lo; ip link set lo up")
    shown = json.loads(subprocess.run(["ip", "-j", "address"], capture_output=True, check=True).stdout)
    addresses = [each["local"] for link in shown for each in link["addr_info"]]
    return "192.0.2.77" if "192.0.2.77" in addresses else ""


@attack("network", as_root)
def the_wire_is_listened_to(scene: Scene) -> str:
    scene.open(network=True)
    with scene.meanwhile(scene.line_of("sniffing")), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(10):
            sender.sendto(f"{scene.token}-on-the-wire".encode(), ("127.0.0.1", 9))
            time.sleep(0.01)
    sniffed = scene.ws / "sniffed"
    return "sniffed" if sniffed.exists() and f"{scene.token}-on-the-wire".encode() in sniffed.read_bytes() else ""


@attack("network", program("ssh-agent"), program("ssh-add"))
def the_keys_of_an_agent_are_used(scene: Scene) -> str:
    path = scene.outside / "agent"
    scene.desk.own()
    scene.host("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", scene.token, "-f", str(scene.base / "key"))
    agent = scene.as_user(["ssh-agent", "-D", "-a", str(path)])
    assert agent.stdout is not None
    agent.stdout.readline()
    scene.as_user(["ssh-add", str(scene.base / "key")], env={"SSH_AUTH_SOCK": str(path)}).wait(10)
    scene.open(network=True)
    scene.run("ssh-add -l", environment={"SSH_AUTH_SOCK": str(path)})
    return scene.was_read()


@attack("network", program("dbus-daemon"), program("dbus-send"))
def the_message_bus_is_asked(scene: Scene) -> str:
    """By it, a program of the session is started outside of the sandbox."""
    address = f"unix:path={scene.outside}/bus"
    scene.desk.own()
    bus = scene.as_user(["dbus-daemon", "--session", "--nofork", f"--address={address}", "--print-address=1"])
    assert bus.stdout is not None
    bus.stdout.readline()
    question = (f"--bus={address}", "--print-reply=literal", "--dest=org.freedesktop.DBus", "/")
    line = " ".join(["dbus-send", *question, "org.freedesktop.DBus.GetId"])
    answer = scene.host(*line.split()).strip()
    assert len(answer) == 32
    scene.open(network=True)
    scene.run(line)
    return scene.was_read(answer)


@attack("network", program("curl"))
def the_daemon_of_containers_is_asked_for_one(scene: Scene) -> str:
    with UnixListener(scene, answer=b"HTTP/1.0 201 Created\r\n\r\n{}") as listener:
        scene.open(network=True)
        scene.run(f"curl -sm 3 --unix-socket {listener.path} -d '{{}}' http://d/containers/create")
        return listener.close()
