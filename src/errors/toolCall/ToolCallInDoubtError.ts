import { AgentPersistenceError } from "../AgentPersistenceError.ts";

/** A tool call began before a crash and nobody knows whether it had its effect. It was not repeated. */
export class ToolCallInDoubtError extends AgentPersistenceError {
  readonly code = "tool_call_in_doubt";
  readonly agentId: string;
  readonly toolName: string;
  readonly toolCallId: string;
  readonly nodeId: string;
  /** The line that declares that a call of this tool may be repeated. */
  readonly declaration: string;
  /** When it is an inverse: the call that it takes back. */
  readonly reverts: string | undefined;

  /** `cause`: what the tool's probe threw, if it did. */
  constructor(
    call: Pick<ToolCallInDoubtError, "agentId" | "toolName" | "toolCallId" | "nodeId"> &
      Partial<Pick<ToolCallInDoubtError, "declaration" | "reverts">>,
    options?: { readonly cause?: unknown },
  ) {
    const { agentId, toolName, toolCallId, nodeId } = call;
    const declaration = call.declaration ?? `tool({ name: ${JSON.stringify(toolName)}, effect: "idempotent", … })`;
    const reverting = call.reverts === undefined ? "" : `, which takes back call ${call.reverts},`;
    super(
      `Tool call ${toolCallId} of "${toolName}"${reverting} in node "${nodeId}" began and has no recorded outcome: it may have had its effect. ` +
        `Look at the outside world and settle it, then go on: ` +
        `persistence(agent).agent(${JSON.stringify(agentId)}).settleToolCall(${JSON.stringify(toolCallId)}, { output } | { error } | "retry" | "unknown"). ` +
        `If a call of the tool is safe to repeat with the same toolCallId, declare it: ${declaration}. ` +
        `The option onToolCallInDoubt of Persistence, or a probe of the tool, decides without being asked.`,
      options,
    );
    this.agentId = agentId;
    this.toolName = toolName;
    this.toolCallId = toolCallId;
    this.nodeId = nodeId;
    this.declaration = declaration;
    this.reverts = call.reverts;
  }
}
