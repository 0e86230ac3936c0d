import type { AgentRun } from "../../agent/feature/AgentRun.ts";
import type { RunStart } from "../../agent/feature/RunRequest.ts";
import { FeatureNotInstalledError } from "../../errors/agentErrors.ts";
import type { RunRecorder } from "./RunRecorder.ts";

const byStart = new WeakMap<RunStart, RunRecorder>();

/** The recorders of all agents, by the position at which their line started last. */
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

  /** Returns `undefined` if the agent runs in memory for a caller without Persistence. */
  find({ start }: AgentRun): RunRecorder | undefined {
    return start && byStart.get(start);
  },
};
