import { InvalidInputError, type InputProblem } from "../../errors/agentErrors.ts";
import type { StrategyGraph } from "../../agent/strategy/StrategyGraph.ts";
import { renamed } from "../../checkpoint/values/renamed.ts";
import { quoted, quotedList } from "../../errors/AgentPersistenceError.ts";
import { z } from "zod";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { functionSchema, integerFrom, nonEmptyString } from "../../internal/options/optionSchemas.ts";
import { strictOptions } from "../../internal/options/checkSchema.ts";

interface KnownTools {
  readonly has: (name: string) => boolean;
  readonly names: readonly string[];
}

export class Migrations {
  readonly version: number;
  readonly #chains = new Map<number, readonly Migration[]>();
  readonly #all: readonly Migration[];

  /** @throws InvalidInputError if a migration does not lead to the current version, or names a missing node or tool. */
  constructor(migrations: readonly Migration[], graph: StrategyGraph, tools: KnownTools) {
    this.version = graph.version;
    this.#all = migrations;
    this.#chains.set(graph.version, []);
    const reached = [graph.version];
    // The list grows during the loop, so that the shortest chains are found first.
    for (const to of reached) {
      for (const migration of migrations) {
        if (migration.to !== to || this.#chains.has(migration.from)) continue;
        this.#chains.set(migration.from, [migration, ...(this.#chains.get(to) ?? [])]);
        reached.push(migration.from);
      }
    }
    const problems = migrations.flatMap((migration, at) => [
      ...this.#problems(migration, at),
      ...(migration.to === graph.version ? wrongNames(migration, at, graph, tools) : []),
    ]);
    if (problems.length > 0) throw new InvalidInputError("configuration of Persistence", problems);
  }

  /** Returns the migrations for a run with this version, in order. `undefined` if no chain exists. */
  chainFrom(version: number): readonly Migration[] | undefined {
    return this.#chains.get(version);
  }

  toolNow(name: string, version: number): string {
    return renamed(name, this.toolRenames(version, this.version));
  }

  /** Returns the renames of tools between two versions, in order. */
  toolRenames(from: number, upTo: number): readonly Readonly<Record<string, string>>[] {
    return (this.chainFrom(from) ?? []).filter(({ to }) => to <= upTo).map(({ tools = {} }) => tools);
  }

  toolNames(name: string): readonly string[] {
    const versions = [...this.#chains.keys()];
    return [...new Set([name, ...versions.map((version) => this.toolNow(name, version))])];
  }

  #problems({ from, to }: Migration, at: number): readonly InputProblem[] {
    const problem = (field: string, expected: string) => [{ path: `migrations.${at}.${field}`, expected }];
    if (to <= from) return problem("to", `expected a version after ${from}, received ${to}`);
    if (to > this.version)
      return problem("to", `expected at most ${this.version}, the version of the strategy, received ${to}`);
    if (!this.#chains.has(to))
      return problem("to", `expected a version that leads to ${this.version}: no migration begins at ${to}`);
    const first = this.#all.findIndex((other) => other.from === from && other.to === to);
    return first === at ? [] : problem("from", `expected one migration from ${from} to ${to}, found several`);
  }
}

function wrongNames(
  { nodes = {}, tools = {} }: Migration,
  at: number,
  graph: StrategyGraph,
  known: KnownTools,
): readonly InputProblem[] {
  const wrong = (kind: "node" | "tool", names: object, isKnown: (name: string) => boolean, listed: string) =>
    Object.entries(names)
      .filter(([, name]) => !isKnown(name))
      .map(([old, name]) => ({
        path: `migrations.${at}.${kind}s.${old}`,
        expected: `expected the name of a ${kind}, received ${quoted(name)}; ${listed}`,
      }));
  return [
    ...wrong("node", nodes, (name) => hasNode(graph, name), `the strategy has ${quotedList(graph.nodePaths)}`),
    ...wrong("tool", tools, known.has, `the agent has ${quotedList(known.names) || "none"}`),
  ];
}

function hasNode(graph: StrategyGraph, path: string): boolean {
  try {
    if (!graph.nodePaths.includes(path)) graph.graphAt(path.split("/"));
    return true;
  } catch {
    return false;
  }
}

/** Migrates stored runs from one version of a strategy to a later version. */
export interface Migration {
  readonly from: number;
  /** The new version of the run, greater than `from`. */
  readonly to: number;
  /**
   * The new paths of renamed nodes, by their old paths, such as `"facts/count"` for a node in a subgraph. The path of a
   * subgraph renames all its contents. Defaults to no renamed nodes.
   */
  readonly nodes?: Readonly<Record<string, string>> | undefined;
  /** The new names of renamed tools, by their old names. Defaults to no renamed tools. */
  readonly tools?: Readonly<Record<string, string>> | undefined;
  /**
   * Receives a copy of the state of a run or branch, with the new names, and returns the changed state. Called for each
   * branch that can continue, and possibly again after a trial or an interruption. If it throws, the agent is
   * unchanged, and the run rejects with `MigrationFailedError`, which has the error as `cause`. After an abort, the run
   * stops waiting for it. Defaults to no change.
   *
   * @example
   * ```ts
   * const migrations: Migration[] = [
   *   { from: 1, to: 2, nodes: { count: "tally" }, migrate: (line) => ({ ...line, storage: { ...line.storage, total: 0 } }) },
   * ];
   * ```
   */
  readonly migrate?: ((line: MigratedLine) => MigratedLine | PromiseLike<MigratedLine>) | undefined;
}

/** The state of a stored run, or of one of its branches, as a migration receives and returns it. */
export interface MigratedLine {
  /** The path of the node that runs next, or `"start"` if no node has started. */
  readonly nodeId: string;
  /** The input of the next node. */
  readonly lastInput: unknown;
  /** Oldest first. */
  readonly messageHistory: readonly Message[];
  /** The values of the agent's storage by key. */
  readonly storage: Readonly<Record<string, unknown>>;
  /** The names of the tools that the model may call. */
  readonly tools: readonly string[];
  /** The path of the branch, such as `both#facts`. `undefined` outside of branches. Ignored in a result. */
  readonly branch?: string | undefined;
}

const names = z.record(nonEmptyString, nonEmptyString).optional();

/** Checks the form of `migrations`. {@link Migrations} checks that they match each other and the strategy. */
export const migrationSchema: z.ZodType = strictOptions(() => ({
  from: integerFrom(0),
  to: integerFrom(0),
  nodes: names,
  tools: names,
  migrate: functionSchema().optional(),
}));
