import { AgentPersistenceError } from "../AgentPersistenceError.ts";
import { quoted } from "../quoted.ts";

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
    /**
     * The graph of the duplicate node, or the path of the node with the duplicate request or branch. Omitted for
     * features and tools.
     */
    readonly within?: string,
  ) {
    super(messages[code](duplicateName, within));
  }
}

const messages: Readonly<Record<DuplicateNameError["code"], (name: string, within?: string) => string>> = {
  duplicate_branch: (key, nodeId) =>
    `Two items of node "${nodeId}" have the key ${quoted(key)}. Give each item a unique key, or omit the keys to use the indexes.`,
  duplicate_feature: (key) =>
    `The agent already has a feature with the key "${key}". Install it once, with all of its options.`,
  duplicate_node: (name, graph) =>
    `Graph "${graph}" already has a node named "${name}". Names must be unique within a graph, so rename one of the nodes.`,
  duplicate_request: (id, nodeId) =>
    `Node "${nodeId}" requested input with the id ${quoted(id)} twice in one execution. ` +
    `Give each request a unique id, for example an id with the number of the round.`,
  duplicate_tool: (name) =>
    `The agent was given two tools named "${name}". The model distinguishes tools by name, so rename one of them.`,
};
