import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { PendingRequest } from "../../agent/feature/RunResult.ts";
import type { RunStart } from "../../agent/feature/RunRequest.ts";
import type { Journal } from "../../journal/Journal.ts";
import type { RunRecorder } from "./RunRecorder.ts";

/** The recorders of active runs, found by where a run began or last moved to. */
export class RunRecorders {
  readonly #byStart = new WeakMap<RunStart, RunRecorder>();
  /** What the run of a journal waits for, once it has ended as waiting. */
  readonly waitsFor = new WeakMap<Journal, readonly PendingRequest[]>();

  add(recorder: RunRecorder): void {
    this.#byStart.set(recorder.start, recorder);
  }

  of(run: AgentRun): RunRecorder {
    const recorder = run.start && this.#byStart.get(run.start);
    if (!recorder) throw new TypeError(`Run ${run.runId} was not begun through Persistence.`);
    return recorder;
  }
}
