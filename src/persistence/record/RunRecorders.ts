import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import type { RunStart } from "../../agent/feature/RunRequest.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { RunRecorder } from "./RunRecorder.ts";

/** By where a line began or last moved to: an agent that is called has recorders in the journal of its caller. */
const byStart = new WeakMap<RunStart, RunRecorder>();

/** The recorders of the lines of active runs. */
export class RunRecorders {
  /** What the run of a journal waits for, once it has ended as waiting. */
  readonly waitsFor = new WeakMap<Journal, readonly PendingRequest[]>();

  add(recorder: RunRecorder): void {
    byStart.set(recorder.start, recorder);
  }

  of(run: AgentRun): RunRecorder {
    const recorder = run.start && byStart.get(run.start);
    if (!recorder) throw new TypeError(`Run ${run.runId} was not begun through Persistence.`);
    return recorder;
  }
}
