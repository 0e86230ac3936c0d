import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { RunStart } from "../../agent/feature/RunRequest.ts";
import { FeatureNotInstalledError } from "../../errors/agentErrors.ts";
import type { RunRecorder } from "./RunRecorder.ts";

const byStart = new WeakMap<RunStart, RunRecorder>();

/** The recorder of each run, branch or sub-agent, by its last start. */
export const recorders = {
  add(recorder: RunRecorder): void {
    byStart.set(recorder.start, recorder);
  },

  of(run: AgentRun): RunRecorder {
    const recorder = this.find(run);
    if (!recorder)
      throw new FeatureNotInstalledError("Persistence", `Run ${run.runId} of the agent that calls this one`);
    return recorder;
  },

  /** Returns `undefined` for a sub-agent of a caller without Persistence, which runs in memory. */
  find({ start }: AgentRun): RunRecorder | undefined {
    return start && byStart.get(start);
  },
};
