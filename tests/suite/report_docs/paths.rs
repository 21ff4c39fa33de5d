//! What is in the JSON report beside rows, explained line by line.

/// What is in the JSON report beside rows: path | unit | meaning. A path alone is explained by the line before.
pub const PATHS: &str = "
schema |  | Version of the paths
sources.*.path | text | File or folder that was opened
sources.*.tracer | text | What wrote it: `torch`, `nsight`, `dftracer`
sources.*.producer | text | The same in its own words
sources.*.to_trace_ns | ns | Added to its times to get those of the trace
sources.*.shift_ns | ns | Of it: what `--shift` asked for
sources.*.unix_zero_ns | ns | Unix time of its clock's zero, where it is known
sources.*.capture | ns, ns | Begin and end of the recording, where the file states them
sources.*.rank | count | Its distributed rank, where the file states it
sources.*.kind | text | As `tracer`
sources.*.files | count | Files of it: one, or those of a folder
sources.*.host | text | Name of the machine that it was recorded on, where known
sources.*.run | count | Its run, by number; of what joins several the first
runs.*.sources | list | Its sources, by number
runs.*.extent | ns, ns | Begin of its first span and end of its last one, in Unix time where known
runs.*.ranks | list | Its ranks
processes.*.host | text | Name of its machine, where known
processes.*.pid | text | Its number
processes.*.run | count | Its run, by number
processes.*.rank | count | Its rank, or that of the process that it works for
processes.*.role | text | `training`, `worker` or `other`
processes.*.parent | text | Number of its parent, where recorded
processes.*.sources | list | Its sources, by number
processes.*.evidence | list | Why its records are of one process: `pid`, `time`, `nested`; empty for one source
processes.*.recorded | flag | Whether anything of it was recorded; else its workers tell of it
notices.*.kind | text | What became of something in the input: `damaged`, `repaired`, `skipped`, `guessed`, `not recorded`, `info`
notices.*.code | text | The reason, as a word
notices.*.text | text | The same as a sentence
notices.*.count | count | How often
notices.*.places | text | The first places
notices.*.file | text | The file that it is about
clocks.*.source | count | A source, by its place in `sources`, whose clock is compared with that of another one of its run
clocks.*.ref | count | The other one: the source with the loop's steps
clocks.*.offset | ns | Its clock minus the other's, as it is placed
clocks.*.lo | ns | The least that this can be, in the middle of what both recorded
clocks.*.hi | ns | The most
clocks.*.lo_start | ns | The least at the first witness
clocks.*.hi_start | ns | The most there
clocks.*.lo_end | ns | The least at the last witness
clocks.*.hi_end | ns | The most there
clocks.*.at | ns | Time, least and most at some times; on the other's clock
clocks.*.drift_ppb | ppb | How much faster it may run, least and most
clocks.*.how | text | Why it lies where it does: `stated`, `by hand`, `estimate` (collectives end together) or `middle`
clocks.*.estimate | ns | Where the ends of collectives put it
clocks.*.one_sided | ns | Always `null`: no relation that bounds one side alone is used
clocks.*.pairs.* | count | Pairs of spans that tell it: `R1` fetches by two recorders, `R3` collectives of two ranks, `chain` through a third source
clocks.*.contradiction.lo |  | The bound from below that excludes …
clocks.*.contradiction.hi |  | … this one from above: distance, time and what told it
window | ns, ns | Begin and end of what is reported on
t0 | ns | Begin of the trace
t1 | ns | End of the trace
n_spans | count | Spans of the trace
anomalies.* | count | Contradictions in the record, by kind
irregular.* | count | What is unusual in the record, by kind
gpu.*.name | text | Its name
gpu.*.rank | count | The first rank that works on it
gpu.*.ops | count | As `n_ops`
gpu.*.record | ns, ns | Begin and end of what the record can tell of it
gpu.*.busy | ns | An operation runs
gpu.*.idle | ns | None runs, inside the record
gpu.*.edge | ns | Outside the record
gpu.*.not_recorded | ns | Inside the record, work may run that was launched and not recorded: neither busy nor idle
gpu.*.hull | ns, ns | `record` of the whole trace, on the clock of the sources
gpu.*.lost_launches.graph | count | Launches of graphs without an operation
gpu.*.lost_launches.kernel | count | Launches of kernels without an operation
gpu.*.lost_launches.calls_graph | count | All launches of graphs
gpu.*.lost_launches.calls_kernel | count | All launches of kernels
gpu.*.overrun | count | Operations that end well after the next one of their stream began: their end is not believed
gpu.*.overrun_worst | ns | How long after that the worst of them ends
gpu.*.stream_overlaps | count | Pairs of operations of one stream that overlap at all; of each the next 64 are looked at
gpu.*.n_ops | count | Operations that start in the window
gpu.*.busy_share | share | Busy time of the window
gpu.*.util | share | Busy time of the record inside the window
gpu.*.sum_of_durations | ns | Durations of all operations; concurrent ones count twice
gpu.*.cls.* | ns | An operation of this class runs: `compute`, `comm`, `h2d`, `d2h`, `d2d`, `p2p`, `memset`
gpu.*.partition.* | ns | The window in parts that add up: `compute` before `comm` before `memcpy` before `memset`, `not_recorded`, `idle`, `edge`
gpu.*.comm | ns | Communication runs
gpu.*.exposed_comm | ns | Of it without compute
gpu.*.comm_overlap | share | Of it under compute
gpu.*.memcpy | ns | A copy runs
gpu.*.exposed_memcpy | ns | Of it without compute and communication
gpu.*.memcpy_overlap | share | Of it under compute
gpu.*.exposed_h2d | ns | Copies to the device without compute and communication
gpu.*.gap_class.* | ns | Idle time by cause: `host` (not yet launched), `kernel` (short gaps), `other` (launched and held), `unknown`
gpu.*.n_gaps | count | Idle gaps that touch the window
gpu.*.gaps | ns, ns, text | Begin, end and cause of each; not with `--brief`
gpu.*.idle_by_phase.* | ns | Idle time by what the loop was doing; `none`: no phase
ranks.*.run | count | Its run, by number
ranks.*.pid | text | Number of its process
ranks.*.device | count | Number of its GPU, where it has one and the number was recorded
ranks.*.gpu_how | text | How its GPU is known: `links` of its calls, or `own file` without any link
ranks.*.gpu_primary.** |  | The entry of that GPU
ranks.*.loop.lane | text | Key of the loop's lane in `lanes`
ranks.*.loop.workers | count | Worker processes of its process
ranks.*.loop.n_fetch | count | Outermost waits for a batch, in the whole trace
ranks.*.loop.wait | ns | The loop waits for its batch
ranks.*.loop.wait_exposed | ns | Of it the GPU had nothing to do
ranks.*.loop.wait_hidden | ns | Of it the GPU was still working
ranks.*.loop.wait_unrecorded | ns | Of it there is no GPU data
ranks.*.loop.wait_lost | ns | Of it work may have run that was launched and not recorded
ranks.*.loop.wait_bound | ns | Where another thread fetches: at most so long the loop can have waited unseen beside an idle GPU
ranks.*.loop.wait_exposed_range | ns, ns | Least and most of `wait_exposed`, as far apart as the clocks of two recorders may be
ranks.*.loop.wait_hidden_range | ns, ns | The same of `wait_hidden`
ranks.*.loop.lanes | text | Lanes of its thread, one for each recorder of it
ranks.*.loop.n_waits | count | Waits that delivered a batch
ranks.*.loop.n_ends | count | Waits that delivered none, as the loader had ended
ranks.*.loop.end_wait | ns | Those
ranks.*.loop.steady_wait | ns | Waits for batches but the first of each run of the loader
ranks.*.loop.wait_by_recorder.* | ns | Waits as each recorder has them
ranks.*.loop.startup.runs | count | Runs of the loader: iterators
ranks.*.loop.startup.first | ns | The first wait of each
ranks.*.loop.startup.make_outside | ns | Making iterators, as far as it is in no wait
ranks.*.loop.startup.end | ns | Waits that delivered no batch
ranks.*.loop.startup.total | ns | The three together
ranks.*.loop.explicit_steps | count | Spans that mark steps
ranks.*.loop.leftover_steps | count | Marked steps that were left out: what follows the last mark
ranks.*.loop.first_steps | text | Marked steps in which a run of the loader begins
ranks.*.loop.fetch_elsewhere.*.lane | text | Another thread of the process that fetches: what it waits for is not the loop's wait
ranks.*.loop.fetch_elsewhere.*.n | count | Its fetches
ranks.*.loop.fetch_elsewhere.*.time | ns | Their sum
ranks.*.loop.runs.*.first | ns | First wait of a run of the loader
ranks.*.loop.runs.*.n | count | Its batches
ranks.*.loop.runs.*.how | text | What shows that it began: 1 the loader had ended, 2 workers were started, 3 an epoch began, 4 a seed was drawn
ranks.*.loop.runs.*.workers_started | count | Workers started for it
ranks.*.loop.runs.*.make | ns | Making its iterator
ranks.*.loop.runs.*.make_how | text | Whether that is in the wait (`nested`) or before it (`seed draw`)
ranks.*.loop.waits.*.start | ns | Begin of a wait; not with `--brief`
ranks.*.loop.waits.*.end | ns | End of it
ranks.*.loop.waits.*.kind | text | `batch`, or `end` where the loader had ended
ranks.*.loop.waits.*.end_how | text | How that is known
ranks.*.loop.waits.*.run | count | Its run of the loader
ranks.*.loop.waits.*.first | flag | The first batch of that run
ranks.*.loop.waits.*.before | ns | Before the loader's own call, where two records or names tell it
ranks.*.loop.waits.*.inside | ns | In that call
ranks.*.loop.waits.*.after | ns | After it
ranks.*.loop.waits.*.recorders | count | Recorders that have it
ranks.*.loop.waits.*.cause.level | text | What is recorded of its loading: `L0` the loop only, `L1` the workers, `L2` also the numbers of batches, `loop` there are no workers; `null` where nothing is said
ranks.*.loop.waits.*.cause.iterator | count | Its iterator, by its place in `loop.cause.iterators`; `null` where nothing was delivered
ranks.*.loop.waits.*.cause.batch | count | Number of its batch in the iterator
ranks.*.loop.waits.*.cause.first | flag | The first one
ranks.*.loop.waits.*.cause.order | text | How its worker is known: by the order in which workers were forked (`forks`), began (`starts`) or are numbered (`pids`), or by the numbers of batches (`ids`)
ranks.*.loop.waits.*.cause.worker | count | The worker that made the batch, by its place in the group
ranks.*.loop.waits.*.cause.pid | count | Its process number
ranks.*.loop.waits.*.cause.made | ns, ns | Begin of the batch's first span, and its end
ranks.*.loop.waits.*.cause.late | flag | The batch was not made when the wait began
ranks.*.loop.waits.*.cause.parts.*.own | ns | What the wait was spent on; parts add up to the wait. Work on its own batch, …
ranks.*.loop.waits.*.cause.parts.*.earlier | ns | … on an earlier one
ranks.*.loop.waits.*.cause.exposed.* | ns | Of a part: the GPU had nothing to do
ranks.*.loop.waits.*.cause.hidden.* | ns | Of a part: the GPU worked
ranks.*.loop.waits.*.cause.dominant | text | The longest group of parts
ranks.*.loop.waits.*.cause.kind | text | What kind of wait: `end`, `unknown`, `loop`, `start`, `hand_over`, `idle`, `slow_file`, `slow_item`, `behind`, or what dominated
ranks.*.loop.waits.*.cause.item.start | ns | The item that took at least half of it, and twice the usual time: its begin
ranks.*.loop.waits.*.cause.item.end | ns | Its end
ranks.*.loop.waits.*.cause.item.index | count | Its number in the data set, where recorded
ranks.*.loop.waits.*.cause.item.in_wait | ns | Of it inside the wait
ranks.*.loop.waits.*.cause.item.median | ns | Median item
ranks.*.loop.waits.*.cause.item.reading | ns | Of `in_wait` reading
ranks.*.loop.waits.*.cause.item.files.*.file | text | A file that it read; the three that took longest
ranks.*.loop.waits.*.cause.item.files.*.ns | ns | How long
ranks.*.loop.waits.*.cause.item.files.*.bytes | bytes | How much
ranks.*.loop.waits.*.cause.item.files.*.calls | count | In how many calls
ranks.*.loop.waits.*.cause.item.files.*.mb_s | MB/s | How fast
ranks.*.loop.waits.*.cause.item.mb_s_median | MB/s | Median of all visits of files
ranks.*.loop.waits.*.cause.ahead.ready | count | Later batches that were ready before its own
ranks.*.loop.waits.*.cause.ahead.first | ns | When the first of them was
ranks.*.loop.waits.*.cause.ahead.saving | ns | What taking them first could have saved of this wait, at most
ranks.*.loop.waits.*.cause.arrivals | count | How often the loop looked for an arrival, where only its Python frames tell: 0 the batch lay there, 1 it came, more: later ones came first
ranks.*.loop.waits.*.cause.reason | text | Why more cannot be told
ranks.*.loop.cause.cause | text | What the loop's waiting comes from: `unknown`, `in_loop`, `start`, `little`, `slow_files`, `slow_worker`, `bursts`, `checkpoint`, or the group that dominates the judged waits
ranks.*.loop.cause.group | text | That group
ranks.*.loop.cause.advice | text | What to do about it
ranks.*.loop.cause.slow_worker | count | The slow worker
ranks.*.loop.cause.slow_files | text | The slow files
ranks.*.loop.cause.loop_ns | ns | From the first wait to the end of the last one. This and what follows is of waits that begin in the window; sums leave out what the GPU worked through
ranks.*.loop.cause.waits | count | Waits that delivered a batch
ranks.*.loop.cause.first | ns | Waits for the first batch of an iterator
ranks.*.loop.cause.later | ns | Waits for later ones
ranks.*.loop.cause.judged | ns | Those that are judged: the late ones of the later, where they are most of them
ranks.*.loop.cause.n_judged | count | How many they are
ranks.*.loop.cause.end | ns | Waits that delivered nothing
ranks.*.loop.cause.by_group.* | ns | All waits by what they were spent on
ranks.*.loop.cause.by_group_later.* | ns | Those for later batches
ranks.*.loop.cause.by_group_judged.* | ns | The judged ones
ranks.*.loop.cause.by_group_first.* | ns | Those for first batches
ranks.*.loop.cause.by_worker.* | ns | By worker; `unknown` where that is not told
ranks.*.loop.cause.by_kind.* | ns | By kind
ranks.*.loop.cause.by_file.*.file | text | A file that was read while the loop waited for its reader; ten that were read longest
ranks.*.loop.cause.by_file.*.in_waits | ns | How long in waits
ranks.*.loop.cause.by_file.*.ns | ns | How long at all
ranks.*.loop.cause.by_file.*.bytes | bytes | How much
ranks.*.loop.cause.by_file.*.visits | count | In how many items
ranks.*.loop.cause.by_file.*.mb_s | MB/s | How fast
ranks.*.loop.cause.workers.*.place |  | Its place among the workers of an iterator, as `slow_worker` and `by_worker` name it
ranks.*.loop.cause.workers.*.pids | list | Process numbers of the workers at one place of the groups
ranks.*.loop.cause.workers.*.batches | count | Batches that waits were for
ranks.*.loop.cause.workers.*.production | ns | Median time in which one was made
ranks.*.loop.cause.workers.*.busy | ns | In the judged waits: at a batch
ranks.*.loop.cause.production_median | ns | The same of all
ranks.*.loop.cause.handover_median | ns | Median time from the end of a batch to the end of its wait
ranks.*.loop.cause.batch_bytes | bytes | Median size of what is copied to the GPU after a wait
ranks.*.loop.cause.slow_file_waits | ns | Judged waits in which the worker was in an item with an unusually slow file
ranks.*.loop.cause.burst_waits | ns | Judged waits for batches that took more than three times the median
ranks.*.loop.cause.checkpoint_waits | ns | Judged waits during checkpoints
ranks.*.loop.cause.restart | ns | Starting workers for iterators after the first
ranks.*.loop.cause.head_of_line_max | ns | What handing out ready batches first could have saved, at most
ranks.*.loop.cause.iterators.*.first_wait | ns | Begin of an iterator's first wait
ranks.*.loop.cause.iterators.*.n | count | Its waits
ranks.*.loop.cause.iterators.*.workers | count | Its workers
ranks.*.loop.cause.iterators.*.fresh | flag | They were started for it
ranks.*.loop.cause.iterators.*.order | text | As of its waits
ranks.*.loop.cause.iterators.*.offset | count | Waits before the record began
ranks.*.loop.cause.iterators.*.batch_items | count | Items of a batch, where batches are told by counting items
ranks.*.loop.cause.iterators.*.assigned | flag | It is told who made which batch
ranks.*.loop.cause.iterators.*.violation.batch | count | Where not: the first batch that contradicts the loader's order
ranks.*.loop.cause.iterators.*.violation.rule | text | What it contradicts: `born`, `ready`, `asked`, `missing`, `even`, `no such id`
ranks.*.loop.cause.iterators.*.violation.by |  | By how much: ns; of `even` batches
ranks.*.loop.cause.iterators.*.reason | text | Why nothing is told of its waits
ranks.*.loop.steps_how | text | Where the steps come from
ranks.*.loop.dropped_fetches | count | Waits that start no step
ranks.*.loop.n_steps | count | Whole steps in the window
ranks.*.loop.partial_steps | count | Steps partly in the window
ranks.*.loop.steps.*.inferred.forward | ns, ns | Begin and end of a forward pass that the loop does not name, guessed
ranks.*.loop.steps.*.inferred.backward | ns, ns | The same of its backward pass
ranks.*.loop.agg.*.sum | ns | Sum of a figure over the whole steps
ranks.*.loop.agg.*.median | ns | Its median
ranks.*.loop.agg.*.p95 | ns | Its 95th percentile
ranks.*.loop.agg.*.max | ns | Its maximum
ranks.*.loop.in_sync | ns | The loop was blocked in calls that wait for the GPU
ranks.*.loop.phases.* | ns | Time of the loop by phase, exclusive, CPU clock; adds up to the window
ranks.*.loop.compute_share | share | Forward, backward, optimizer or compute of the window, CPU clock
ranks.*.workers.n_procs | count | Processes that load
ranks.*.workers.load_sum | ns | Loading, summed over them
ranks.*.workers.busiest | ns | Loading of the busiest
ranks.*.workers.hidden_sum | ns | Of the sum the GPU worked
ranks.*.workers.exposed_sum | ns | Of the sum the GPU had nothing to do
ranks.*.workers.any_load | ns | At least one loads
ranks.*.workers.any_load_hidden | ns | Of it the GPU worked
ranks.*.loop.steps_confidence.source | text | What steps were inferred from, where nobody marked them
ranks.*.loop.steps_confidence.marks | count | Its marks
ranks.*.loop.steps_confidence.regular | share | Steps behind the first within a quarter of their median time
ranks.*.loop.starts | count | Steps in which the loader starts
ranks.*.loop.restarts | count | Of them found by a fetch that delivered nothing
ranks.*.loop.pace.step | ns | What a judged step takes, to the end of its GPU work where the loop runs ahead
ranks.*.loop.pace.basis | text | `median`, `mean, GPU drained` or `mean, CPU clock`
ranks.*.loop.pace.runs_ahead | flag | Steps end before their GPU work does
ranks.*.loop.pace.median | ns | Median of the judged steps on the CPU's clock
ranks.*.loop.pace.steps | count | Steps measured
ranks.*.comm.time | ns | Communication in the judged steps
ranks.*.comm.exposed | ns | Of it not covered by compute
ranks.*.comm.wait | ns | Of it waiting for a late rank
ranks.*.comm.wait_exposed | ns | Of that not covered by compute
ranks.*.comm.transfer_exposed | ns | Of the exposed the transfer itself
ranks.*.comm.unmatched | count | Collectives without partners on other ranks; they count as transfer
ranks.*.verdict.verdict | text | Kind of the first issue
ranks.*.verdict.headline | text | The first issue in a sentence
ranks.*.verdict.evidence_text | text | What shows it
ranks.*.verdict.cure | text | What to do, on which condition, and the most it can bring
ranks.*.verdict.issues.*.kind | text | What bounds the rank
ranks.*.verdict.issues.*.value | ns | Its time
ranks.*.verdict.issues.*.share | share | The same as a part of `of_ns`
ranks.*.verdict.issues.*.of | text | What that is: `judged` steps, `loop` (from the end of the first step on) or `record`
ranks.*.verdict.issues.*.of_ns | ns | Its length
ranks.*.verdict.issues.*.severity | text | `critical`, `warning` or `info`
ranks.*.verdict.issues.*.clock | text | `gpu` or `cpu`: whose time it is
ranks.*.verdict.issues.*.pattern | text | `every step`, `some steps` or `burst`
ranks.*.verdict.issues.*.burst.k | count | The fewest steps that hold nine tenths of it
ranks.*.verdict.issues.*.burst.n | count | Steps, and other stretches of the loop that hold some
ranks.*.verdict.issues.*.burst.share | share | What the k hold
ranks.*.verdict.issues.*.burst.steps | text | The first of them
ranks.*.verdict.issues.*.burst.period | count | They are so many steps apart
ranks.*.verdict.issues.*.names.*.name | text | A range that covers a pause
ranks.*.verdict.issues.*.names.*.ns | ns | Pauses in it
ranks.*.verdict.issues.*.names.*.n | count | How many
ranks.*.verdict.issues.*.where | text | `step start`, `inside` or `between steps`
ranks.*.verdict.issues.*.by_loader.* | ns | Its part in the waits of one name
ranks.*.verdict.issues.*.gain_at_most | ns | The most that can be won
ranks.*.verdict.issues.*.text.verdict | text | The issue in a sentence
ranks.*.verdict.issues.*.text.why | text | What shows it
ranks.*.verdict.issues.*.text.next | text | What to look at next
ranks.*.verdict.issues.*.evidence.occurrences | count | How often it happened
ranks.*.verdict.issues.*.evidence.gaps_per_step | count | Gaps of the GPU per judged step
ranks.*.verdict.issues.*.evidence.kernel_median | ns | Median length of a kernel
ranks.*.verdict.issues.*.evidence.suspicious | ns | Its part in ranges whose names look like waits
ranks.*.verdict.issues.*.evidence.places.*.span |  | A span that shows it
ranks.*.verdict.issues.*.evidence.places.*.start | ns | Begin of the place
ranks.*.verdict.issues.*.evidence.places.*.end | ns | End of the place
ranks.*.verdict.issues.*.evidence.places.*.value | ns | What it costs there
ranks.*.verdict.missing | text | Signals that were not recorded, and why nothing is concluded
ranks.*.verdict.missing_texts.* | text | The same in sentences
ranks.*.verdict.account.judged | ns | Window in judged steps
ranks.*.verdict.account.first | ns | In steps in which the loader starts
ranks.*.verdict.account.partial | ns | In steps that the window cuts
ranks.*.verdict.account.between | ns | Between steps
ranks.*.verdict.account.outside | ns | Before the first and behind the last step
ranks.*.verdict.judged_share | share | Judged part of the window
ranks.*.verdict.coverage.low | flag | The judged steps are less than half of the window or shorter than another part
ranks.*.verdict.coverage.longest | text | Longest other part: `first`, `between` or `outside`
ranks.*.verdict.ledger.* | ns | Idle time of the loop by what it belongs to; without a GPU, time of the loop
ranks.*.verdict.steps | count | Whole steps in the window
ranks.*.verdict.n_judged | count | Of them judged
ranks.*.verdict.partial_steps | count | Steps partly in the window
ranks.*.verdict.judged | text | The same in a sentence
ranks.*.verdict.left_out.*.step | text | A step that was not judged
ranks.*.verdict.left_out.*.reason | text | Why
ranks.*.verdict.left_out.*.wait | ns | Its wait
ranks.*.verdict.left_out.*.wait_exposed | ns | Of it exposed
ranks.*.verdict.left_out.*.longest.span |  | Its longest wait
ranks.*.verdict.left_out.*.longest.start | ns | Begin of that
ranks.*.verdict.left_out.*.longest.end | ns | End of that
ranks.*.rates.unit | text | `samples/s` or `batches/s`
ranks.*.rates.G | 1/s | What the GPU could take
ranks.*.rates.P | 1/s | What preparation could give, if it were a stage of its own
ranks.*.rates.F | 1/s | What reading could give, if it were a stage of its own
ranks.*.rates.R | 1/s | What the loader gives
ranks.*.rates.stalled | flag | The loader gives less than the GPU could take
ranks.*.rates.stall | ns | Modelled wait per step
ranks.*.rates.prep_stall | ns | Of it due to preparation
ranks.*.rates.fetch_stall | ns | Of it due to reading
ranks.*.rates.C | ns | A step that never waits for data
ranks.*.rates.L | ns | Loading work per batch
ranks.*.rates.L_read | ns | Of it reading
ranks.*.rates.h | ns | Hand-over of a batch in a worker
ranks.*.rates.h0 | ns | Hand-over in the loop itself, without workers
ranks.*.rates.basis | text | How C was measured
ranks.*.rates.step | ns | Mean step
ranks.*.rates.wait | ns | Mean wait that costs time
ranks.*.rates.load_from_waits | flag | The loop loads by itself: its waits stand in for the loading
ranks.*.rates.workers | count | Workers that loaded at the same time
ranks.*.rates.batches | count | Batches loaded
ranks.*.rates.needed_workers | count | Workers with which loading keeps up
ranks.*.rates.recommended_workers | count | The same with 25 % headroom; `null` where more workers are no cure
ranks.*.rates.recommended_reason | text | Why not
ranks.*.as_if.*.what | text | If what the waiting comes from were gone; the loader's queue played again
ranks.*.as_if.*.wait | ns | All waits, as played
ranks.*.as_if.*.measured_wait | ns | As recorded
ranks.*.as_if.*.time | ns | From the first wait to the end of the last one of each iterator, as played
ranks.*.as_if.*.measured_time | ns | As recorded
ranks.*.rates.profiled | flag | The tracer slows training: profiled speed is not training speed
ranks.*.rates.job.steps | count | Steps of the job
ranks.*.rates.job.epochs | count | Runs of the loader
ranks.*.rates.job.startup | ns | Wait at the start of each
ranks.*.rates.job.rest | ns | What is neither C nor waits of steps nor start-up
ranks.*.rates.job.time | ns | Length of the job
rank_table.common_steps | count | Steps that all ranks have
rank_table.median | count | The rank whose step is closest to the median
job.verdict | text | What bounds the job; `job` is null where there are several runs, each of which has its own in `runs`
job.kind_of | text | Whose that is: `job` (the ranks beside each other), `all ranks`, or the number of a rank
job.issues.*.** |  | What the ranks make of each other, as `ranks.*.verdict.issues`
job.world | count | Ranks of the job, as far as a file states it
job.recorded | count | Of them opened
job.score | share | What late ranks cost, of the judged steps of the rank in the middle
job.pattern | text | `persistent` (one rank has four fifths of it), `wandering` (none has half) or `mixed`
job.cause | text | Why: what explains four fifths of it
job.culprit | count | The late rank, where it is one
job.cost | ns | What being late costs in the judged steps
job.per_step | ns | The same for each of them
job.median_rank | count | The rank in the middle by the mean of its judged steps
job.coverage.* | share | What each cause explains of the cost
job.late.*.rank | count | A rank
job.late.*.last | count | Collectives to which it came last alone
job.late.*.last_shared | count | Collectives to which it came last with others
job.late.*.waited | ns | What it waited for others
job.late.*.cost | ns | What it is charged with
job.late.*.cost_judged | ns | Of it in judged steps
job.late.*.per_step | ns | The same for each of them
job.late.*.late_steps | count | Steps in which that is a twentieth or more
job.collectives.matched | count | Collectives known of all recorded members of their group
job.collectives.together | count | Of them those to which all came together
job.collectives.unmatched | count | Operations without partners
job.collectives.left_out.* | count | Operations that are not compared, by reason
job.collectives.groups | text | Groups of ranks that communicate
job.collectives.ends_apart | ns | How far the ends of a collective lie apart, without each rank's usual difference: 95th percentile
job.missing | text | `RANKS` (not all were opened), `UNMATCHED`, `ENDS_DISAGREE` (lengths do not tell who was late)
job.missing_texts.* | text | The same in sentences
job.headline | text | The verdict in a sentence
job.evidence_text | text | What shows it
job.cure | text | What to do
runs.*.job.** |  | Where there are several runs: as `job`
overlap_left_out | count | Pairs of streams that are not in `overlap`, because a GPU has too many
launch.calls | count | Calls that launched something
launch.ops | count | Operations that start in the window
launch.ops_without_launch | count | Of those without a launch call
launch.pairs | count | Operations of the calls
launch.delay_median | ns | Return of the call to start of the operation, at least zero; `delay_p95`, `delay_max` likewise
launch.delay_p95
launch.delay_max
launch.start_delay_median | ns | Start of the call to start of the operation; `start_delay_p95`, `start_delay_max` likewise
launch.start_delay_p95
launch.start_delay_max
launch.total_median | ns | Start of the call to end of the operation; `total_p95`, `total_max` likewise
launch.total_p95
launch.total_max
launch.op_before_launch | count | Operations that start before their launch: clocks disagree
launch.blocking_calls | count | Calls that return after an operation of their own has ended
bwd_of.*.n_ops | count | GPU operations of the backward work of a forward span, by span
bwd_of.*.sum | ns | Sum of their durations
grid | ns | Width of fixed windows, with `--windows`
windows.*.window | count | Number of a fixed window from the start of the trace
windows.*.*.sum | ns | A kind of work in it, summed over processes
windows.*.*.proc_max | ns | The same of the busiest process
windows.*.*.n_started | count | Spans of it that start there
windows.*.*.dfa_sum | ns | The sum as DFAnalyzer counts: whole spans in the window of their start, nested ones each
windows.*.*.dfa_proc_max | ns | The same of the busiest process
window_totals.*.sum | ns | Sum of the fixed windows; `proc_max`, `dfa_sum`, `dfa_proc_max` likewise
window_totals.*.proc_max
window_totals.*.dfa_sum
window_totals.*.dfa_proc_max
compare.origin | ns | What a later recording is compared with, of a whole recording; Unix time of the trace's zero
compare.extent | ns, ns | Begin and end of the trace
compare.spans | count | Its spans
compare.runs | count | Its runs, if they are not the ranks of one job
compare.incomplete | flag | Not all of the input was read
compare.recorder | list | What wrote it, and what that was told to record
compare.hardware | list | Names of its GPUs
compare.workers | count | Recorded worker lanes
compare.ranks.*.rank | count | A rank
compare.ranks.*.steps_how | text | What defines its steps: `explicit`, `fetch` or `optimizer`
compare.ranks.*.steps | count | Its steps
compare.ranks.*.left_out | count | Whole cycles that are not judged, because the loader started in them
compare.ranks.*.gpu | flag | A GPU of its own has operations
compare.ranks.*.waits | list | Tracer and name of the spans that are its waits
compare.ranks.*.verdict | text | The kind of its verdict
compare.ranks.*.headline | text | Its verdict in a sentence
compare.ranks.*.cycles.*.step | text | A judged cycle: number or name of its step
compare.ranks.*.cycles.*.index | count | Place of its step among those of the rank
compare.ranks.*.cycles.*.number | count | Number of its step, where it has one
compare.ranks.*.cycles.*.start | ns | When it began
compare.ranks.*.cycles.*.time | ns | Its length
compare.ranks.*.cycles.*.figures.* | ns | As the step's of the same name
compare.ranks.*.cycles.*.gpu_lag | ns | End of the last GPU work launched in it after its own end
compare.ranks.*.cycles.*.gpu_parts.* | ns | Its time by what the GPU did and what kept it idle; adds up to it, parts of nothing are left out
compare.ranks.*.cycles.*.cpu_parts.* | ns | Its time by phase of the loop's thread; adds up to it likewise
compare.ranks.*.kernels.*.name | text | A normalised name of GPU kernels
compare.ranks.*.kernels.*.count | count | Operations of that name launched in the judged cycles
compare.ranks.*.kernels.*.time | ns | Sum of their durations
windows_error | text | Why there are no fixed windows
";
