"""Thirty questions about four code bases, each with the definition that it is after.

They were written from reading the code bases, before anything was ranked, and are not there to be fitted: what is
changed in the ranking has to have a reason of its own. ``wanted`` is a file with the beginning of the definition as it
stands there; any of them will do. It never lies in an active file, which is in view anyway.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """One question, with what whoever asks it has in view and names."""

    repository: str
    text: str
    active: tuple[str, ...]
    identifiers: tuple[str, ...]
    wanted: tuple[tuple[str, str], ...]


QUESTIONS = (
    Question(
        "celery",
        "Where is the message of a task built before it is sent to the broker?",
        ("celery/app/task.py",),
        ("apply_async",),
        (("celery/app/amqp.py", "def as_task_v2"),),
    ),
    Question(
        "celery",
        "What stores in the result backend that a task is going to be retried?",
        ("celery/app/trace.py",),
        ("handle_retry",),
        (("celery/backends/base.py", "def mark_as_retry"),),
    ),
    Question(
        "celery",
        "Which function makes the request class that is optimised for one task and pool?",
        ("celery/worker/strategy.py",),
        ("task_message_handler",),
        (("celery/worker/request.py", "def create_request_cls"),),
    ),
    Question(
        "celery",
        "How is the time until the next run of a crontab computed from the last run?",
        ("celery/beat.py",),
        ("ScheduleEntry", "is_due"),
        (("celery/schedules.py", "def remaining_delta"),),
    ),
    Question(
        "celery",
        "How does the backend count the parts of a chord that have returned?",
        ("celery/canvas.py",),
        ("_chord",),
        (
            ("celery/backends/base.py", "def on_chord_part_return"),
            ("celery/backends/redis.py", "def on_chord_part_return"),
        ),
    ),
    Question(
        "celery",
        "How are the boot steps of a blueprint brought into the order of their requirements?",
        ("celery/worker/worker.py",),
        ("Blueprint",),
        (("celery/bootsteps.py", "def _finalize_steps"),),
    ),
    Question(
        "celery",
        "What matches a task's name with the patterns of task_routes?",
        ("celery/app/base.py",),
        ("send_task", "router"),
        (("celery/app/routes.py", "class MapRoute"),),
    ),
    Question(
        "celery",
        "How is an exception that cannot be pickled made storable?",
        ("celery/backends/base.py",),
        ("prepare_exception",),
        (("celery/utils/serialization.py", "def get_pickleable_exception"),),
    ),
    Question(
        "redis",
        "When a key is written, what tells the clients that WATCH it?",
        ("src/t_string.c",),
        ("setGenericCommand",),
        (("src/multi.c", "void touchWatchedKey"),),
    ),
    Question(
        "redis",
        "Which keys are picked as candidates for eviction once maxmemory is reached?",
        ("src/server.c",),
        ("processCommand",),
        (("src/evict.c", "void evictionPoolPopulate"),),
    ),
    Question(
        "redis",
        "Where is it checked that the user may run the command that was just parsed?",
        ("src/networking.c",),
        ("processCommandAndResetClient",),
        (("src/acl.c", "int ACLCheckAllUserCommandPerm"), ("src/acl.c", "int ACLCheckAllPerm")),
    ),
    Question(
        "redis",
        "What serves the clients that are blocked on a list once it gets an element?",
        ("src/t_list.c",),
        ("blpopCommand",),
        (("src/blocked.c", "void serveClientsBlockedOnListKey"), ("src/blocked.c", "void handleClientsBlockedOnKeys")),
    ),
    Question(
        "redis",
        "Where are expired keys removed in the background, without being accessed?",
        ("src/db.c",),
        ("expireIfNeeded",),
        (("src/expire.c", "void activeExpireCycle"),),
    ),
    Question(
        "redis",
        "What writes the snapshot straight to the sockets of replicas?",
        ("src/replication.c",),
        ("startBgsaveForReplication",),
        (("src/rdb.c", "int rdbSaveToSlavesSockets"),),
    ),
    Question(
        "redis",
        "How does cluster mode find out which node serves the keys of a command?",
        ("src/db.c",),
        ("getKeysFromCommand",),
        (("src/cluster.c", "clusterNode *getNodeByQuery"),),
    ),
    Question(
        "redis",
        "How is an element put into a small sorted set that is encoded as a listpack?",
        ("src/t_zset.c",),
        ("zzlInsertAt",),
        (
            ("src/listpack.c", "unsigned char *lpInsert("),
            ("src/listpack.c", "unsigned char *lpInsertString"),
            ("src/listpack.c", "unsigned char *lpInsertInteger"),
        ),
    ),
    Question(
        "caddy",
        "How does cookie based load balancing choose an upstream?",
        ("modules/caddyhttp/reverseproxy/reverseproxy.go",),
        ("LoadBalancing",),
        (("modules/caddyhttp/reverseproxy/selectionpolicies.go", "CookieHashSelection"),),
    ),
    Question(
        "caddy",
        "Where is the admin endpoint replaced by a new one when a config is loaded?",
        ("caddy.go",),
        ("run",),
        (("admin.go", "func replaceLocalAdminServer"),),
    ),
    Question(
        "caddy",
        "What finds the domains that need certificates and sets up the redirects from HTTP to HTTPS?",
        ("modules/caddyhttp/server.go",),
        ("Server",),
        (("modules/caddyhttp/autohttps.go", "automaticHTTPSPhase1"),),
    ),
    Question(
        "caddy",
        "How is a Caddyfile split into tokens, with quotes and escapes?",
        ("caddyconfig/httpcaddyfile/httptype.go",),
        ("ServerType", "Setup"),
        (
            ("caddyconfig/caddyfile/lexer.go", "func (l *lexer) next"),
            ("caddyconfig/caddyfile/lexer.go", "func Tokenize"),
        ),
    ),
    Question(
        "caddy",
        "How is a module found by the key inside of its JSON?",
        ("modules/caddyhttp/app.go",),
        ("LoadModule",),
        (("modules.go", "func getModuleNameInline"), ("context.go", "loadModuleInline")),
    ),
    Question(
        "caddy",
        "What holds the settings of certificates from an ACME authority, such as challenges?",
        ("modules/caddytls/automation.go",),
        ("AutomationPolicy",),
        (("modules/caddytls/acmeissuer.go", "ACMEIssuer struct"),),
    ),
    Question(
        "caddy",
        "Where are CEL expressions that match requests compiled?",
        ("modules/caddyhttp/matchers.go",),
        ("MatchPath",),
        (("modules/caddyhttp/celmatcher.go", "MatchExpression"),),
    ),
    Question(
        "fastify",
        "How are the onRequest hooks run one after the other?",
        ("fastify.js",),
        ("addHook",),
        (("lib/hooks.js", "function hookRunnerGenerator"), ("lib/hooks.js", "function hookIterator")),
    ),
    Question(
        "fastify",
        "What reads the body of a request and parses it by its content type?",
        ("lib/route.js",),
        ("routeHandler",),
        (("lib/contentTypeParser.js", "function ContentTypeParser"), ("lib/contentTypeParser.js", "function rawBody")),
    ),
    Question(
        "fastify",
        "How does the promise that a handler returns become the reply?",
        ("lib/handleRequest.js",),
        ("preHandlerCallback",),
        (("lib/wrapThenable.js", "function wrapThenable"),),
    ),
    Question(
        "fastify",
        "Where is the serializer for a status code looked up in the schema?",
        ("lib/reply.js",),
        ("Reply",),
        (("lib/schemas.js", "function getSchemaSerializer"),),
    ),
    Question(
        "fastify",
        "What makes the child instance when a plugin is encapsulated?",
        ("fastify.js",),
        ("register",),
        (("lib/pluginOverride.js", "function override"),),
    ),
    Question(
        "fastify",
        "How are the schemas of a route normalised before they are compiled?",
        ("lib/validation.js",),
        ("compileSchemasForValidation",),
        (("lib/schemas.js", "function normalizeSchema"),),
    ),
    Question(
        "fastify",
        "What runs the error handler of a route, or that of its parents?",
        ("lib/reply.js",),
        ("onErrorHook",),
        (("lib/error-handler.js", "function handleError"),),
    ),
)
