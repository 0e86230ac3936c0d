import type { RunStart } from "../../agent/feature/RunRequest.ts";
import type { RunStateSeed } from "../../agent/state/RunState.ts";
import type { Recording } from "../recording/Recording.ts";

export function freshStart({ agentId, runId, input, generation, history, line }: Recording): RunStart {
  const lane = line.parts[0]?.line.lane ?? 1;
  return {
    nodeId: "start",
    input,
    state: history ? keptState(history, line) : {},
    line: { agentId, runId, lane },
    generation,
    visitBase: -lane,
    visitOrdinal: 0,
    runId,
  };
}

/** The first checkpoint contains the results that the run added for open calls of the run before. */
function keptState(history: NonNullable<Recording["history"]>, { parts }: Recording["line"]): RunStateSeed {
  const [first] = parts[0]?.checkpoints ?? [];
  return {
    messages: history.map((message, at) => ({ number: at + 1, message })),
    numbers: { next: history.length + 1 },
    ...(first?.iteration === 0 && { added: first.added }),
  };
}
