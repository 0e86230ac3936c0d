import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import { FeatureNotInstalledError } from "../../errors/agent/FeatureNotInstalledError.ts";
import type { RunStart } from "../../agent/feature/RunRequest.ts";
import type { RunRecorder } from "./RunRecorder.ts";

/** By where a line began or last moved to: an agent that is called has recorders in the journal of its caller. */
const byStart = new WeakMap<RunStart, RunRecorder>();

/** The recorders of the lines of active runs. */
export class RunRecorders {
  add(recorder: RunRecorder): void {
    byStart.set(recorder.start, recorder);
  }

  /** @throws FeatureNotInstalledError when nothing records the run */
  of(run: AgentRun): RunRecorder {
    const recorder = this.find(run);
    if (!recorder)
      throw new FeatureNotInstalledError("Persistence", `Run ${run.runId} of the agent that calls this one`);
    return recorder;
  }

  /** `undefined`: the agent runs in memory, for one without Persistence that calls it. */
  find({ start }: AgentRun): RunRecorder | undefined {
    return start && byStart.get(start);
  }
}
