# A client of openbuffer in another language, written from bridge/PROTOCOL.md and nothing else.
#
#   perl stranger.pl ROOT COMMAND...        starts the server
#   perl stranger.pl ROOT HOST:PORT TOKEN   connects to one that listens (TOKEN: the name of a variable that holds it)
#
# It opens a document, types, has it read and edited, answers what the user is asked, saves, follows a command's
# progress and cancels it. What it finds is printed as JSON, one object a line; the test that runs it is the judge.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use IO::Socket::INET;
use IPC::Open2;
use JSON::PP;

my ($root, @server) = @ARGV;
my $json = JSON::PP->new->utf8->canonical;
my ($in, $out, $pid, %options);
if ($server[0] =~ /^[\d.]+:\d+$/) {
    $in = $out = IO::Socket::INET->new(PeerAddr => $server[0], Proto => 'tcp') or die "no server at $server[0]: $!";
    $options{initializationOptions} = {openbuffer => {accessToken => $ENV{$server[1]}}};
} else {
    $pid = open2($in, $out, @server);
}
binmode $_ for $in, $out;

# --- frames and messages -------------------------------------------------------------------------------------

my ($buffer, $last_id, %answers, @told) = ('', 0);

sub post {
    my $body = $json->encode({jsonrpc => '2.0', @_});
    my $frame = 'Content-Length: ' . length($body) . "\r\n\r\n$body";
    while (length $frame) {
        my $sent = syswrite $out, $frame;
        die "the server takes nothing: $!" unless $sent;
        substr($frame, 0, $sent) = '';
    }
}

sub more {
    my $got = sysread $in, $buffer, 65536, length $buffer;
    die "the connection has ended" unless $got;
}

sub message {
    more() until $buffer =~ /\r\n\r\n/;
    my ($header) = split /\r\n\r\n/, $buffer, 2;
    my ($length) = $header =~ /Content-Length: (\d+)/ or die "no length in $header";
    substr($buffer, 0, length($header) + 4) = '';
    more() while length($buffer) < $length;
    return $json->decode(substr $buffer, 0, $length, '');
}

# One message of the server's: an answer is kept, a request is answered, a notification is noted.
sub take {
    my $message = message();
    if (!defined $message->{method}) {
        $answers{$message->{id}} = $message;
    } elsif (exists $message->{id}) {
        answer($message);
    } else {
        push @told, $message;
    }
}

sub ask {
    my ($method, $params) = @_;
    post(id => ++$last_id, method => $method, params => $params);
    return $last_id;
}

sub wait_for {
    my ($id) = @_;
    take() until $answers{$id};
    return delete $answers{$id};
}

sub request { wait_for(ask(@_)) }

sub call {
    my ($name, $arguments) = @_;
    my $answer = request('openbuffer/callTool', {name => $name, arguments => $arguments});
    die $json->encode($answer) unless $answer->{result};
    return $answer->{result};
}

sub found { print $json->encode({@_}), "\n"; }

# --- documents -----------------------------------------------------------------------------------------------

my %documents;    # by URI: text (characters), version, dirty

sub uri { "file://$root/$_[0]" }
sub bytes { my ($text) = @_; utf8::encode($text); $text }

sub disk {
    my ($name) = @_;
    open my $file, '<:raw', "$root/$name" or return undef;
    local $/;
    return scalar <$file>;
}

sub open_document {
    my ($name) = @_;
    my $text = disk($name);
    utf8::decode($text);
    $documents{uri($name)} = {text => $text, version => 1, dirty => JSON::PP::false};
    my %item = (uri => uri($name), languageId => 'plaintext', version => 1, text => $text);
    post(method => 'textDocument/didOpen', params => {textDocument => \%item});
}

# Columns are UTF-8 bytes, as this client offers nothing else.
sub replace {
    my ($document, $edit) = @_;
    my @lines = split /(?<=\n)/, $document->{text}, -1;
    my @at = map {
        my ($line, $column) = @{$edit->{range}{$_}}{qw(line character)};
        my $before = join '', @lines[0 .. $line - 1];
        my $part = substr bytes($lines[$line] // ''), 0, $column;
        utf8::decode($part);
        length($before) + length($part);
    } qw(start end);
    substr($document->{text}, $at[0], $at[1] - $at[0]) = $edit->{newText};
}

sub tell_change {
    my ($uri, @changes) = @_;
    my $document = $documents{$uri};
    $document->{version}++;
    $document->{dirty} = JSON::PP::true;
    my $identifier = {uri => $uri, version => $document->{version}};
    post(method => 'textDocument/didChange', params => {textDocument => $identifier, contentChanges => \@changes});
}

sub type_at_start {
    my ($name, $text) = @_;
    my $start = {line => 0, character => 0};
    my $range = {start => $start, end => $start};
    replace($documents{uri($name)}, {range => $range, newText => $text});
    tell_change(uri($name), {range => $range, text => $text});
}

sub state_of {
    my ($document, $with_text) = @_;
    my %state = (version => $document->{version}, textHash => sha256_hex(bytes($document->{text})));
    $state{dirty} = $document->{dirty};
    $state{text} = $document->{text} if $with_text;
    return \%state;
}

# --- what the server asks ------------------------------------------------------------------------------------

my (@permissions, @asked);

sub is_at {
    my ($document, $params) = @_;
    my $state = state_of($document);
    return $state->{version} == $params->{textDocument}{version} && $state->{textHash} eq $params->{textHash};
}

my %handlers = (
    'openbuffer/readDocument' => sub {
        my ($params) = @_;
        my $document = $documents{$params->{textDocument}{uri}} or return undef;
        return state_of($document, $params->{includeText});
    },
    'openbuffer/applyEdit' => sub {
        my ($params) = @_;
        my $uri = $params->{textDocument}{uri};
        my $document = $documents{$uri} or return {done => JSON::PP::false, reason => 'not open', document => undef};
        return {done => JSON::PP::false, reason => 'changed', document => state_of($document)} unless is_at($document, $params);
        my @edits = reverse @{$params->{edits}};
        replace($document, $_) for @edits;
        tell_change($uri, map { {range => $_->{range}, text => $_->{newText}} } @edits);
        return {done => JSON::PP::true, document => state_of($document)};
    },
    'openbuffer/saveDocument' => sub {
        my ($params) = @_;
        my $uri = $params->{textDocument}{uri};
        my $document = $documents{$uri};
        my ($name) = $uri =~ m{([^/]+)$};
        my $refused = !is_at($document, $params) || sha256_hex(disk($name)) ne $params->{diskHash};
        return {done => JSON::PP::false, reason => 'changed', document => state_of($document)} if $refused;
        open my $file, '>:raw', "$root/$name" or die $!;
        print $file bytes($document->{text});
        close $file;
        $document->{dirty} = JSON::PP::false;
        post(method => 'textDocument/didSave', params => {textDocument => {uri => $uri}, text => $document->{text}});
        return {done => JSON::PP::true, document => state_of($document)};
    },
    'openbuffer/requestPermission' => sub {
        my ($params) = @_;
        found(permission => $params->{tool}, path => $params->{targets}[0]{path}, hunks => $params->{change}{hunks});
        return shift @permissions;
    },
);

sub answer {
    my ($message) = @_;
    push @asked, $message->{method};
    my $handler = $handlers{$message->{method}};
    if ($handler) {
        post(id => $message->{id}, result => $handler->($message->{params}));
    } else {
        post(id => $message->{id}, error => {code => -32601, message => "this client does not know $message->{method}"});
    }
}

# --- the session ---------------------------------------------------------------------------------------------

my %can = map { $_ => JSON::PP::true } qw(readDocument applyEdit saveDocument requestPermission);
my $begun = request(
    'initialize',
    {   processId => $$,
        rootUri => "file://$root",
        capabilities => {
            general => {positionEncodings => ['utf-8']},
            workspace => {applyEdit => JSON::PP::true},
            experimental => {openbuffer => {protocolVersion => 1, %can}},
        },
        %options,
    }
)->{result};
found(encoding => $begun->{capabilities}{positionEncoding}, version => $begun->{capabilities}{experimental}{openbuffer}{protocolVersion});
post(method => 'initialized', params => {});
my $tools = request('openbuffer/listTools')->{result}{tools};
found(tools => [sort map { $_->{name} } @$tools]);

# Typed and not saved: read, and edited in the document alone.
open_document('notes.txt');
type_at_start('notes.txt', "typed \x{1f600} \x{e9}\n");
found(read => call('Read', {filePath => 'notes.txt'})->{data}{output});
@permissions = ({outcome => 'once'});
my $edited = call('Edit', {filePath => 'notes.txt', oldString => "\x{e9}\npears", newString => "e\nplums"});
found(edited => !$edited->{isError} ? JSON::PP::true : JSON::PP::false, text => $documents{uri('notes.txt')}{text});

# Nothing unsaved in it: first the user says no, then the edit is made and saved.
open_document('clean.txt');
@permissions = ({outcome => 'no', reason => 'not this one'}, {outcome => 'once'});
my %edit = (filePath => 'clean.txt', oldString => 'old', newString => 'new');
my $refused = call('Edit', \%edit);
found(refused => $refused->{error}{type}, why => $refused->{error}{message}, text => $documents{uri('clean.txt')}{text});
$edited = call('Edit', \%edit);
found(saved => $edited->{data}{output}, dirty => $documents{uri('clean.txt')}{dirty});

# A command that lasts: its progress, and the end of it.
my $command = {command => 'echo begun; sleep 300'};
my $lasting = ask('openbuffer/callTool', {name => 'Shell', arguments => $command, workDoneToken => 'mine'});
my $heard = sub { grep { $_->{method} eq '$/progress' && ($_->{params}{value}{message} // '') =~ /begun/ } @told };
take() until $heard->();
post(method => '$/cancelRequest', params => {id => $lasting});
found(cancelled => wait_for($lasting)->{error}{code});
my @kinds = map { $_->{params}{value}{kind} } grep { $_->{method} eq '$/progress' && $_->{params}{token} eq 'mine' } @told;
found(progress => [$kinds[0], $kinds[-1]]);

found(asked => [sort keys %{{map { $_ => 1 } @asked}}]);
request('shutdown');
post(method => 'exit');
my $rest = do { my $got; 1 while $got = sysread $in, my $ignored, 65536; $got };
waitpid $pid, 0 if $pid;
found(exit => $pid ? $? >> 8 : 0);
