import {
  type AIAgent,
  type AnyTool,
  type PersistenceStorageProvider,
  strategy,
  type Strategy,
} from "agent-persistence";
import { type AgentTool, called, chain, type NodeBody } from "./calledAgents.ts";
import { durableAgent, type DurableOptions } from "./durableAgent.ts";
import type { World } from "./World.ts";

/** What the second node of each of two lines does; the first only says that it ran. */
export interface TwoLines {
  readonly line: NodeBody;
  /** Default: it ends. */
  readonly beside?: NodeBody;
}

/** Builds the agent "a" as one process has it. Tools and inverses are those of every agent in it. */
export type BuildAgent = (storage: PersistenceStorageProvider, options?: DurableOptions) => AIAgent<string, string>;

/** A way for two lines to run side by side. */
export interface LineKind {
  readonly name: string;
  /** The path of the branch that the first line is, or is in. Absent: it is in none. */
  readonly branch?: string;
  readonly agentPath: readonly string[];
  readonly build: (world: World, lines: TwoLines, options?: Pick<DurableOptions, "tools" | "registry">) => BuildAgent;
}

/** What every agent of {@link lineKinds} gives, if the second nodes give what they get. */
export const bothEnded = "line, beside";

type Role = keyof TwoLines;
type Bodies = Readonly<Record<Role, NodeBody>>;

const roles: readonly Role[] = ["line", "beside"];

/** Says that it ran, then acts as the line that it is on. */
function work(world: World, bodies: Bodies): Strategy<string, string> {
  return chain("work", {
    begin: (role) => {
      world.nodes.push(`${role} begins`);
      return role;
    },
    act: (role, context) => {
      world.nodes.push(`${role} acts`);
      return bodies[role as Role](role, context);
    },
  });
}

function branches(world: World, bodies: Bodies): Strategy<string, string> {
  return strategy<string, string>("branches", (graph) => {
    const [line, beside] = roles.map((role) =>
      graph.subgraph<string, string>(role, (inner) => {
        const name = inner.node("name", () => role);
        const works = inner.subgraph("work", work(world, bodies));
        inner.edge(inner.start, name);
        inner.edge(name, works);
        inner.edge(works, inner.finish);
      }),
    ) as [ReturnType<typeof graph.subgraph<string, string>>, ReturnType<typeof graph.subgraph<string, string>>];
    const both = graph.parallel("both", { line, beside }, (results) => `${results.line}, ${results.beside}`);
    graph.edge(graph.start, both);
    graph.edge(both, graph.finish);
  });
}

function items(world: World, bodies: Bodies): Strategy<string, string> {
  return strategy<string, string>("items", (graph) => {
    const item = graph.subgraph("item", work(world, bodies));
    const all = graph.each("all", item, { key: (role) => role }, (results) => results.join(", "));
    graph.edge(graph.start, all, { map: () => roles });
    graph.edge(all, graph.finish);
  });
}

type CalledOptions = Pick<DurableOptions, "tools" | "registry">;

/** An agent as a tool, with the tools and the inverses of its caller. */
const asked = (built: Strategy<string, string>, { tools = [], registry }: CalledOptions): AgentTool =>
  called("ask", built, { config: { tools }, persistence: registry ? { rollbackToolRegistry: registry } : {} });

const asks = (ask: AgentTool, topics: readonly string[]): NodeBody => {
  return async (_text, { tools }) => {
    const given = await Promise.all(topics.map((topic) => tools.call(ask, { topic })));
    return given.join(", ");
  };
};

const ofBranches: LineKind["build"] = (world, lines, options) =>
  builder(branches(world, complete(lines)), options?.tools ?? [], options);

const ofItems: LineKind["build"] = (world, lines, options) =>
  builder(items(world, complete(lines)), options?.tools ?? [], options);

const ofAgents: LineKind["build"] = (world, lines, options = {}) => {
  const ask = asked(work(world, complete(lines)), options);
  return builder(
    chain("chief", { first: (text) => text, plan: asks(ask, roles) }),
    [ask, ...(options.tools ?? [])],
    options,
  );
};

const nested: LineKind["build"] = (world, lines, options = {}) => {
  const ask = asked(branches(world, complete(lines)), options);
  const built = strategy<string, string>("nested", (graph) => {
    const lead = graph.node("lead", asks(ask, ["x"]));
    const other = graph.node("other", (text) => text);
    const around = graph.parallel("around", { lead, other }, (results) => results.lead);
    graph.edge(graph.start, around);
    graph.edge(around, graph.finish);
  });
  return builder(built, [ask, ...(options.tools ?? [])], options);
};

function complete({ line, beside = (text) => text }: TwoLines): Bodies {
  return { line, beside };
}

function builder(built: Strategy<string, string>, tools: readonly AnyTool[], given: DurableOptions = {}): BuildAgent {
  return (storage, options = {}) => durableAgent(built, storage, { ...given, ...options, tools });
}

export const branchKinds: readonly LineKind[] = [
  { name: "branches", branch: "both#line", agentPath: [], build: ofBranches },
  { name: "items", branch: "all#line", agentPath: [], build: ofItems },
];

export const lineKinds: readonly LineKind[] = [
  ...branchKinds,
  { name: "agents", agentPath: ["ask"], build: ofAgents },
  {
    name: "branches of an agent in a branch",
    branch: "around#lead/both#line",

    agentPath: ["ask"],
    build: nested,
  },
];

/** Every storage with every kind of lines. */
export function everyLine<Storage extends { readonly name: string }>(
  storages: readonly Storage[],
  kinds: readonly LineKind[] = lineKinds,
): readonly (readonly [string, Storage, LineKind])[] {
  return storages.flatMap((storage) => kinds.map((kind) => [`${storage.name}: ${kind.name}`, storage, kind] as const));
}
