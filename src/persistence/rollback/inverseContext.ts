import type { AgentContext } from "../../agent/context/AgentContext.ts";
import { ExecutionMovedError } from "../../errors/ExecutionMovedError.ts";

/** What an inverse tool gets as its context: it says where the rollback goes; everything else is closed, since no node runs. */
export function inverseContext(facts: {
  readonly agentId: string;
  readonly runId: string;
  readonly nodeId: string;
  readonly signal: AbortSignal;
}): AgentContext {
  const closed = (): never => {
    throw new ExecutionMovedError(facts.nodeId);
  };
  return {
    ...facts,
    get llm() {
      return closed();
    },
    get tools() {
      return closed();
    },
    get storage() {
      return closed();
    },
    setProgress: closed,
    recordDecision: closed,
    require: closed,
    requestInput: closed,
    feature: closed,
  };
}
