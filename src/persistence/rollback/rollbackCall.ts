import type { AgentContext } from "../../agent/context/AgentContext.ts";
import type { AnyTool, ToolCallOptions } from "../../agent/tool/Tool.ts";
import { ExecutionMovedError } from "../../errors/agent/ExecutionMovedError.ts";
import { checkSchemaAsync } from "../../internal/options/checkSchema.ts";
import type { LoggedCall } from "../../journal/loggedCalls.ts";
import type { RevertOptions } from "./RevertOptions.ts";

/** The input of a recorded call. Stored arguments are hostile: the schema that stands in the code judges them again. */
export async function storedInput(
  tool: AnyTool,
  call: LoggedCall,
): Promise<{ readonly input: unknown } | { readonly error: unknown }> {
  try {
    return {
      input: await checkSchemaAsync(tool.inputSchema, call.input(), `stored input of tool "${tool.name}"`),
    };
  } catch (error) {
    return { error };
  }
}

/** What a tool gets that is called by a rollback: no node runs, so that its context is closed. */
export function rollbackCallOptions(
  toolCallId: string,
  { journal, target, signal }: Pick<RevertOptions, "journal" | "target" | "signal">,
): ToolCallOptions {
  const { agentId, generation } = journal;
  const context = inverseContext({ agentId, runId: target.runId, nodeId: target.record.node, signal });
  return { toolCallId, generation, messages: [], abortSignal: signal, context };
}

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
