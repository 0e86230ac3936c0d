import { AgentPersistenceError, quoted, quotedList } from "./AgentPersistenceError.ts";

/** The stored agent is a copy, and its original may still run under the same id. The stored state is unchanged. */
export class AgentCopiedError extends AgentPersistenceError {
  override readonly code = "agent_copied";

  constructor(readonly agentId: string) {
    super(
      `Agent ${quoted(agentId)} is a copy, and its original may still run under the same id. ` +
        `If the original no longer runs, pass takeOver: true to run() or resume(), or call takeOver().`,
    );
  }
}

/** The agent was moved to another storage, or a move is in progress. The stored state is unchanged. */
export class AgentMovedError extends AgentPersistenceError {
  override readonly code = "agent_moved";

  constructor(
    readonly agentId: string,
    /** `moving` until `finishMove` or `cancelMove` is called. */
    readonly state: "moving" | "moved",
    /** The agent id in the other storage, and the directory of that storage if it has one. Omitted during the move. */
    readonly to?: { readonly agentId: string; readonly folder?: string },
  ) {
    const place = to?.folder === undefined ? "another storage" : `the storage in ${to.folder}`;
    super(
      state === "moved"
        ? `Agent ${quoted(agentId)} was moved to ${place}, as ${quoted(to?.agentId ?? agentId)}. Run it there.`
        : `Agent ${quoted(agentId)} was exported for a move. Call finishMove() with the receipt of the import, or cancelMove() if the agent was not imported.`,
    );
  }
}

/** Two definitions use the default id in one storage, and would continue each other's runs. Nothing was changed. */
export class DefaultIdSharedError extends AgentPersistenceError {
  override readonly code = "default_id_shared";

  constructor(readonly agentId: string) {
    super(
      `Another definition without an id uses the same storage as agent ${quoted(agentId)}, but has a different ` +
        `strategy, tools or system prompt. Each would continue the runs of the other. ` +
        `Give each definition an id, new AIAgent({ id: "support", … }), or pass agentId to each call.`,
    );
  }
}

/** An operation requires a feature that is not installed. */
export class FeatureNotInstalledError extends AgentPersistenceError {
  override readonly code = "feature_not_installed";

  constructor(
    readonly feature: string,
    /** The operation that requires the feature, such as `resume()`. Omitted if your code requested the feature. */
    readonly neededBy?: string,
    advice = `Add .install(${feature}, { … }) to the agent before its first run.`,
  ) {
    const missing =
      neededBy === undefined ? `The feature "${feature}"` : `${neededBy} needs the feature "${feature}", which`;
    super(`${missing} is not installed. ${advice}`);
  }
}

/** A value cannot be used as an agent id. The storage was neither read nor written. */
export class InvalidAgentIdError extends AgentPersistenceError {
  override readonly code = "invalid_agent_id";

  constructor(
    readonly agentId: unknown,
    found: string,
  ) {
    super(`An agent id must be well-formed text of 1 to 1,024 bytes in UTF-8, but found ${found}. Choose another id.`);
  }
}

/** One problem of an invalid value. */
export interface InputProblem {
  /** The location in the value, such as "items.0.name". Empty for the value itself. */
  readonly path: string;
  /** The expected and the actual value. */
  readonly expected: string;
}

/** An argument or option is invalid, or one of your schemas rejects a value. */
export class InvalidInputError extends AgentPersistenceError {
  override readonly code = "invalid_input";

  constructor(
    /** The role of the value, such as `input of node "check"`. */
    readonly subject: string,
    readonly problems: readonly InputProblem[],
  ) {
    super(`Invalid ${subject}: ${summaryOf(problems)}.`.replace(/\?\.$/, "?"));
  }
}

export function summaryOf(problems: readonly InputProblem[]): string {
  return problems.map(describe).join("; ");
}

function describe({ path, expected }: InputProblem): string {
  return path === "" ? expected : `at "${path}": ${expected}`;
}

/** Code or a stored run names a tool that the agent does not have. */
export class UnknownToolError extends AgentPersistenceError {
  override readonly code = "unknown_tool";

  constructor(
    readonly toolName: string,
    readonly tools: readonly string[],
  ) {
    const known = tools.length === 0 ? "it has none" : `it has ${quotedList(tools)}`;
    super(
      `The agent has no tool ${quoted(toolName)}: ${known}. Add the tool to "tools" of the agent. If the tool was renamed, add the new name to "tools" of a migration. To offer only some of the tools, call context.llm.configure({ tools }).`,
    );
  }
}
