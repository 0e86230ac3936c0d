import { AgentPersistenceError, quotedList, quoted } from "./AgentPersistenceError.ts";

/** Branches wrote different values to the same storage key, and `merge` did not resolve the conflict. */
export class BranchConflictError extends AgentPersistenceError {
  override readonly code = "branch_conflict";

  constructor(
    readonly nodeId: string,
    readonly branchesByKey: Readonly<Record<string, readonly string[]>>,
  ) {
    super(
      `Branches of node "${nodeId}" wrote different values to the same storage keys: ${Object.entries(branchesByKey)
        .map(([key, branches]) => `"${key}" (${quotedList(branches)})`)
        .join("; ")}. In merge, set or delete each of these keys, or adopt the values of one branch.`,
    );
  }
}

/** A key, name or id that must be unique is used twice. */
export class DuplicateNameError extends AgentPersistenceError {
  constructor(
    override readonly code:
      | "duplicate_branch"
      | "duplicate_feature"
      | "duplicate_node"
      | "duplicate_request"
      | "duplicate_tool",
    /** The key of the feature or branch, the name of the node or tool, or the id of the request. */
    readonly duplicateName: string,
    /** The graph of the node, or the path of the node with the request or branch. Omitted for features and tools. */
    readonly within?: string,
  ) {
    super(messages[code](duplicateName, within));
  }
}

const messages: Readonly<Record<DuplicateNameError["code"], (name: string, within?: string) => string>> = {
  duplicate_branch: (key, nodeId) =>
    `Two items of node "${nodeId}" have the key ${quoted(key)}. Give each item a unique key, or omit the keys.`,
  duplicate_feature: (key) =>
    `The agent already has a feature with the key "${key}". Install it once, with all of its options.`,
  duplicate_node: (name, graph) => `Graph "${graph}" already has a node named "${name}". Rename one of the nodes.`,
  duplicate_request: (id, nodeId) =>
    `Node "${nodeId}" requested input with the id ${quoted(id)} twice in one execution. ` +
    `Give each request a unique id, for example by appending a counter.`,
  duplicate_tool: (name) =>
    `The agent was given two tools named "${name}". The model distinguishes tools by name, so rename one of them.`,
};

/** A graph cannot run because of the way it is built. */
export class InvalidStrategyError extends AgentPersistenceError {
  override readonly code = "invalid_strategy";

  constructor(
    /** The name of the strategy or subgraph. */
    readonly graph: string,
    /** The mistake, and how to fix it. */
    readonly problem: string,
  ) {
    super(`The graph "${graph}" is not valid: ${problem}`);
  }
}

/** A run reached the maximum number of node executions. */
export class IterationLimitError extends AgentPersistenceError {
  override readonly code = "iteration_limit";

  constructor(
    readonly maxIterations: number,
    /** The path of the node that would run next. */
    readonly nodeId: string,
  ) {
    super(
      `The run reached its limit of ${maxIterations} node executions before node "${nodeId}". If the run is not in a loop, raise maxIterations of the agent and resume.`,
    );
  }
}

/** A `migrate` function threw. `cause` is the thrown value. The stored state is unchanged. */
export class MigrationFailedError extends AgentPersistenceError {
  override readonly code = "migration_failed";

  constructor(
    readonly from: number,
    readonly to: number,
    /** The message of the thrown error. */
    readonly reason: string,
    options: { readonly cause: unknown },
  ) {
    super(`The migration from version ${from} to ${to} threw: ${reason}`, options);
  }
}

/** A node finished, but no condition of its edges accepts the output. */
export class NoMatchingEdgeError extends AgentPersistenceError {
  override readonly code = "no_matching_edge";

  constructor(
    /** The path of the node, or "start". */
    readonly nodeId: string,
    /** The names of the target nodes of the edges, in the order they were tried. */
    readonly edges: readonly string[],
  ) {
    const found = edges.length === 0 ? "it has no edges" : `no condition matched on its edges to ${quotedList(edges)}`;
    super(
      `The run cannot continue after "${nodeId}": ${found}. Add an edge that matches this output, or an edge without a condition.`,
    );
  }
}

/** The code changed in a part that the stored run still needs. The log is unchanged. */
export class StrategyChangedError extends AgentPersistenceError {
  override readonly code = "strategy_changed";

  constructor(
    readonly agentId: string,
    /** One text for each difference, such as `node "check" is gone`. */
    readonly differences: readonly string[],
    /** The names of the tools that call the changed agent, outermost first. Empty for the agent itself. */
    readonly agentPath: readonly string[] = [],
  ) {
    const id = quoted(agentId);
    const wasStored = `was stored with another strategy: ${differences.join("; ")}. `;
    super(
      agentPath.length > 0
        ? `The agent that tool "${agentPath.join("/")}" of agent ${id} calls ${wasStored}` +
            `Add a migration to the current strategy, resume with the earlier code that stored it, or roll ${id} back to a checkpoint before the call.`
        : `Agent ${id} ${wasStored}` +
            `Resume it with the earlier code that stored it. Or raise the version of the current strategy and add a migration: ` +
            `install(Persistence, { migrations: [{ from, to, nodes, tools }] }). Or continue it at a node of the current strategy: ` +
            `persistence(agent).agent(${id}).setExecutionPoint({ nodeId, input }), then resume. ` +
            `Or keep the effects of the run and start a new run: run(input, { unfinished: "abandon" }).`,
    );
  }
}

/** The strategy has no node with this name, or several. */
export class UnknownNodeError extends AgentPersistenceError {
  override readonly code = "unknown_node";

  constructor(
    /** The requested name or path. */
    readonly nodeId: string,
    /** The usable paths. Contains all nodes, or the nodes that share an ambiguous name. */
    readonly nodes: readonly string[],
    /** Whether several nodes have this name. */
    readonly ambiguous = false,
    /** The parallel node whose branch contains the node. Set only if that branch is not running. */
    closed?: string,
  ) {
    super(problemOf({ nodeId, nodes, ambiguous, closed }));
  }
}

function problemOf({
  nodeId,
  nodes,
  ambiguous,
  closed,
}: Pick<UnknownNodeError, "nodeId" | "nodes" | "ambiguous"> & { readonly closed: string | undefined }): string {
  if (closed !== undefined)
    return `Node "${nodeId}" belongs to a branch of "${closed}", but that branch is not running. Move to "${closed}" instead.`;
  if (ambiguous)
    return `Several nodes are named ${quoted(nodeId)}. Use the full path of one of them: ${quotedList(nodes)}.`;
  return `The strategy has no node ${quoted(nodeId)}. Use one of its nodes: ${quotedList(nodes)}.`;
}
