import type { AssistantMessage, ContentPart, ToolMessage } from "../../checkpoint/messages/Message.ts";
import { frozenCopy } from "../../internal/frozenCopy.ts";
import type { AgentTools } from "../context/AgentContext.ts";
import { assertMessage } from "../model/assertMessage.ts";
import type { CallScope } from "./CallScope.ts";
import { isToolFailure } from "../tool/isToolFailure.ts";
import { replaceToolCallIds, withToolCallIds } from "../tool/withToolCallIds.ts";
import type { Tool } from "../tool/Tool.ts";
import type { ToolCaller } from "./ToolCaller.ts";

type ToolCallPart = Extract<ContentPart, { type: "tool-call" }>;
type ToolResultPart = Extract<ContentPart, { type: "tool-result" }>;

/** The tool calls of one context. */
export class NodeTools implements AgentTools {
  readonly #scope: CallScope;
  readonly #caller: ToolCaller;

  constructor(scope: CallScope, caller: ToolCaller) {
    this.#scope = scope;
    this.#caller = caller;
  }

  async call<Arguments, Output>(tool: Tool<Arguments, Output, never>, input: NoInfer<Arguments>): Promise<Output> {
    this.#scope.visit.assertOpen();
    const ordinal = this.#scope.nextOrdinal("c");
    const toolCallId = this.#scope.idAt("c", ordinal, 0);
    const outcome = await this.#caller.call({
      toolCallId,
      tool,
      input: frozenCopy(input),
      origin: { kind: "node", ordinal },
    });
    if (outcome.refused) throw outcome.refused;
    // The tool's own `execute` gave it, now or before a crash.
    return outcome.output as Output;
  }

  async execute(message: AssistantMessage): Promise<ToolMessage> {
    this.#scope.visit.assertOpen();
    assertMessage(message, "message to execute", "assistant");
    const asked = this.#issueIds(message, this.#scope.nextOrdinal("x"));
    const parts = typeof asked.content === "string" ? [] : asked.content;
    const settled = await Promise.allSettled(
      parts.flatMap((part, index) => (part.type === "tool-call" ? [this.#answer(asked, part, index)] : [])),
    );
    const content = settled.map((result) => {
      if (result.status === "rejected") throw result.reason;
      return result.value;
    });
    return frozenCopy({ role: "tool", content });
  }

  /** A message from elsewhere gets ids of this line, and the history shows them. */
  #issueIds(message: AssistantMessage, ordinal: number): AssistantMessage {
    const issued = withToolCallIds(
      message,
      (index) => this.#scope.idAt("x", ordinal, index),
      (id) => this.#scope.issued(id),
    );
    replaceToolCallIds(this.#scope.visit.state.history, message, issued);
    return issued;
  }

  async #answer(message: AssistantMessage, part: ToolCallPart, index: number): Promise<ToolResultPart> {
    const { tools } = this.#scope.visit.run;
    const tool = tools.get(part.toolName);
    if (!tool) return resultOf(part, noSuchTool(part.toolName, [...tools.keys()]), true);
    try {
      const origin = { kind: "model", message, index } as const;
      const outcome = await this.#caller.call({ toolCallId: part.toolCallId, tool, input: part.input, origin });
      return outcome.refused ? resultOf(part, outcome.refused.message, true) : resultOf(part, outcome.output);
    } catch (error) {
      if (isToolFailure(error)) return resultOf(part, error.reason, true);
      throw error;
    }
  }
}

function resultOf(part: ToolCallPart, output: unknown, isError?: true): ToolResultPart {
  const { toolCallId, providerToolCallId, toolName } = part;
  return {
    type: "tool-result",
    toolCallId,
    ...(providerToolCallId !== undefined && { providerToolCallId }),
    toolName,
    output,
    ...(isError && { isError }),
  };
}

function noSuchTool(name: string, names: readonly string[]): string {
  const found =
    names.length === 0 ? "There are none." : `The tools are: ${names.map((known) => `"${known}"`).join(", ")}.`;
  return `There is no tool "${name}". ${found}`;
}
