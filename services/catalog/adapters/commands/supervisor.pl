# Runs a shell command and ends everything that it started, wherever that has gone: two processes, of which each is the
# reaper of what is below it (PR_SET_CHILD_SUBREAPER), so that nobody's orphan leaves the tree. Each ends all when the
# other one is gone, or the server is. A command may stop them: each continues the other one, and the system continues
# whoever's parent is gone (PR_SET_PDEATHSIG). No module is loaded: the start of a command waits for it.
# Usage: perl supervisor.pl NUMBER_OF_PRCTL NUMBER_OF_SIGCONT SHELL
#   0: from the server: the length of the command in a line, then the command; its end means that all is to end
#   3: to the server: `pipe FD` (what the command writes is to be read there), `pid N` (group of the command), and when
#      nothing is left `exit N` or `signal N`. It is closed when both processes are gone.
use strict;

my ($prctl, $continue, $shell) = @ARGV;
my @ignored = qw(HUP INT QUIT USR1 USR2 PIPE ALRM TERM TSTP TTIN TTOU);
my ($NO_WAIT, $LOOK_SECONDS, $ROUNDS) = (1, 0.25, 400);

sub become_reaper {
  # PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG
  for my $words ([36, 1], [1, $continue + 0]) { syscall($prctl + 0, @$words, 0, 0, 0) == 0 or exit 125 }
}

# What is below this process: pid => group.
sub descendants {
  my (%parent, %group, %below);
  opendir(my $proc, '/proc') or return;
  local $/;
  for my $pid (grep { /^\d+$/ } readdir $proc) {
    open(my $file, '<', "/proc/$pid/stat") or next;
    my $stat = <$file>;
    # proc_pid_stat(5): pid (name) state parent group …; the name may contain anything.
    ($parent{$pid}, $group{$pid}) = ($1, $2) if defined $stat && $stat =~ /.*\) \S (\d+) (\d+)/s;
  }
  for my $pid (keys %parent) {
    my ($at, $steps) = ($pid, 0);
    $at = $parent{$at} while defined $at && $at != $$ && $steps++ < 10_000;
    $below{$pid} = $group{$pid} if defined $at && $at == $$ && $pid != $$;
  }
  return %below;
}

# Kills what is below this process until nothing is. What the system does not let go in some seconds is left alone.
sub end_all {
  for my $round (1 .. $ROUNDS) {
    1 while waitpid(-1, $NO_WAIT) > 0;
    return if waitpid(-1, $NO_WAIT) < 0;
    my %below = descendants();
    my %groups = map { $_ => 1 } grep { $_ != getpgrp(0) && $_ > 1 } values %below;
    # Stopped before any is killed: none goes on because another one, for which it waited, has ended.
    for my $signal ('STOP', 'KILL') {
      # Groups first: that reaches also those that are being started.
      kill $signal, map { -$_ } keys %groups;
      kill $signal, keys %below;
    }
    select(undef, undef, undef, $round < 10 ? 0.002 : 0.02);
  }
}

# Waits for one of these to have something to read, or for a signal, or a moment.
sub await_any {
  my $bits = '';
  vec($bits, fileno($_), 1) = 1 for @_;
  return select($bits, undef, undef, $LOOK_SECONDS) > 0 ? grep { vec($bits, fileno($_), 1) } @_ : ();
}

sub read_exactly {
  my ($length) = @_;
  my $text = '';
  while (length $text < $length) { sysread(STDIN, $text, $length - length $text, length $text) or exit 0 }
  return $text;
}

$SIG{$_} = 'IGNORE' for @ignored;
open(my $report, '>&', 3) or exit 125;
{ open(my $original, '>&=', 3); close $original }
sub report { syswrite($report, "@_\n") }

# Before the server knows of this process, and hands the command over: one that is gone by now never does.
become_reaper();
pipe(my $output, my $writer) or exit 125;
report('pipe', fileno $output);
my $length = '';
while ((my $digit = read_exactly(1)) ne "\n") { $length .= $digit }
my $command = read_exactly($length);
close $output;

pipe(my $ended, my $ending) or exit 125;
pipe(my $leash, my $hand) or exit 125;
my $outer = $$;
my $inner = fork;
exit 125 unless defined $inner;
inner() if $inner == 0;
close $_ for $writer, $ending, $leash;

# The outer process: until the server closes its end, or the inner one says how the command ended, or is gone.
my @first;
until (@first = await_any(\*STDIN, $ended)) { kill 'CONT', $inner }
my $end = '';
# Nothing is sent after the command: the server closed its end. What the inner process said meanwhile counts all the same.
sysread($ended, $end, 100) if grep { $_ == $ended } @first;
end_all();
report($end) if $end ne '';
exit 0;

sub inner {
  close $_ for $ended, $hand;
  become_reaper();
  exit 0 if getppid != $outer;
  $SIG{CHLD} = sub { };
  my $pid = fork;
  exit 125 unless defined $pid;
  run() if $pid == 0;
  close $writer;
  # The command does it, too: whoever is first.
  setpgrp($pid, $pid);
  report('pid', $pid);
  for (;;) {
    if (await_any(\*STDIN, $leash)) {
      end_all();
      continue_outer();
      exit 0;
    }
    while ((my $ended = waitpid(-1, $NO_WAIT)) > 0) {
      next if $ended != $pid;
      syswrite($ending, $? & 127 ? 'signal ' . ($? & 127) : 'exit ' . ($? >> 8));
      continue_outer();
      # The outer process ends what is left, this one with it; but the command may have killed it last.
      end_all();
      exit 0;
    }
    continue_outer();
  }
}

sub continue_outer { kill 'CONT', $outer if getppid == $outer }

sub run {
  setpgrp(0, 0);
  $SIG{$_} = 'DEFAULT' for @ignored, 'CHLD', 'FPE';
  open(STDIN, '<', '/dev/null');
  open(STDOUT, '>&', $writer);
  open(STDERR, '>&', $writer);
  exec { $shell } $shell, '-c', $command;
  exit 127;
}
