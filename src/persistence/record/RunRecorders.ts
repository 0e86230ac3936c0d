import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { RunStart } from "../../agent/feature/RunStart.ts";
import type { RunRecorder } from "./RunRecorder.ts";

/** The sessions of runs that go on, found by where a run began or last moved to. */
export class RunRecorders {
  readonly #byStart = new WeakMap<RunStart, RunRecorder>();

  add(session: RunRecorder): void {
    this.#byStart.set(session.start, session);
  }

  of(run: AgentRun): RunRecorder {
    const session = run.start && this.#byStart.get(run.start);
    if (!session) throw new TypeError(`Run ${run.runId} was not begun through Persistence.`);
    return session;
  }
}
