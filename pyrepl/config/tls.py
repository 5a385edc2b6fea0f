"""Rows of directives.py about TLS. Names and defaults are Redis's and Valkey's unless the help says otherwise."""

from __future__ import annotations

from pyrepl.config.directive import Directive
from pyrepl.config.kinds import Choice, Integer, Secret, Text, YesNo
from pyrepl.config.tls_kinds import CertificateField, TlsProtocols


class Tls:
    """TLS"""

    tls_port = Directive(Integer(0, 65535), 0, "TCP port for clients and replicas with TLS; 0 opens none.")
    tls_cert_file = Directive(
        Text(), "", "The certificate of this node, and those that lead from it to the CA, as PEM; tls-port needs it."
    )
    tls_key_file = Directive(Text(), "", "The private key of tls-cert-file, as PEM.")
    tls_key_file_pass = Directive(Secret(), b"", "The password of tls-key-file, if the file is encrypted.", secret=True)
    tls_client_cert_file = Directive(
        Text(), "", "Certificate for connections that this node opens, as to its master; empty: that of tls-cert-file."
    )
    tls_client_key_file = Directive(Text(), "", "The private key of tls-client-cert-file.")
    tls_client_key_file_pass = Directive(
        Secret(), b"", "The password of tls-client-key-file, if the file is encrypted.", secret=True
    )
    tls_ca_cert_file = Directive(Text(), "", "Certificates of the CAs that this node trusts, as PEM.")
    tls_ca_cert_dir = Directive(
        Text(),
        "",
        "Folder with certificates of CAs that this node trusts, under the names that `openssl rehash` gives.",
    )
    tls_auth_clients = Directive(
        Choice("no", "yes", "optional"),
        "yes",
        "Whether clients that connect with TLS must have a certificate of one of these CAs; optional:"
        " they may have one, and it is checked.",
    )
    tls_auth_clients_user = Directive(
        CertificateField(),
        "off",
        "The field of a client's certificate that names its user: CN, URI (a SAN of this kind; as in Valkey"
        " 9.1), or off. A client whose certificate names no user of this node begins as the user default.",
    )
    tls_replication = Directive(YesNo(), False, "Whether this node connects to its master with TLS.")
    tls_check_name = Directive(
        YesNo(),
        False,
        "Whether the certificate of the master, or of a member of mailbox-members, must be for the name or address by"
        " which this node reaches it. Not in Redis, which trusts each certificate of its CAs.",
    )
    tls_cluster = Directive(YesNo(), False, "Whether MIGRATE connects with TLS. pyrepl is no cluster.")
    tls_stream = Directive(
        YesNo(), False, "Whether stream-port speaks TLS, and nothing else. Not in Redis.", mutable=False
    )
    tls_mailbox = Directive(
        YesNo(),
        False,
        "Whether mailbox-port speaks TLS, and nothing else, and this node connects to the other members"
        " with TLS. Not in Redis.",
        mutable=False,
    )
    tls_protocols = Directive(
        TlsProtocols(), (), "Versions that may be spoken, such as TLSv1.3; empty: TLSv1.2 and TLSv1.3."
    )
    tls_ciphers = Directive(Text(), "", "Ciphers of TLS 1.2, in the words of OpenSSL; empty: Python's choice.")
    tls_ciphersuites = Directive(
        Text(), "", "Ciphers of TLS 1.3, in the words of OpenSSL; empty: OpenSSL's choice. It needs Python 3.15."
    )
    tls_prefer_server_ciphers = Directive(
        YesNo(), False, "Whether the node's order of ciphers counts, and not that of the client."
    )
    tls_dh_params_file = Directive(
        Text(), "", "Parameters for ciphers with Diffie-Hellman, as PEM; empty: no such ciphers."
    )
    tls_session_caching = Directive(
        YesNo(), True, "Whether clients may resume sessions, which spares them half the work."
    )
    tls_auto_reload_interval = Directive(
        Integer(0, 86_400),
        1,
        "Seconds between two looks at the files above; changed ones are used for new connections. 0: only CONFIG SET"
        " reads them. In Valkey 9.1 the default is 0.",
    )
    max_new_tls_connections_per_cycle = Directive(
        Integer(1, 1000),
        1,
        "Steps of handshakes in one turn of the event loop. With more, many clients connect sooner, and"
        " clients that are connected wait longer meanwhile.",
    )
