import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  persistence,
  RequestRejectedError,
  RollbackToolRegistry,
  storageKey,
  strategy,
  tool,
  ToolRejectedError,
  triggers,
  type AgentContext,
  type AIAgent,
  type PersistenceStorageProvider,
  type Strategy,
} from "agent-persistence";
import { z } from "zod";
import { nodeInputOf, runOf, visitOf } from "../../../../src/agent/feature/ContextBinding.ts";
import { durableAgent, type DurableOptions, Stopped } from "../../support/durableAgent.ts";
import type { LineAct, LineBody, LineJoin, LineStep, RandomLines } from "./randomLines.ts";
import { World } from "../../support/World.ts";

const count = storageKey("count", z.number());

export const digest = (...values: readonly unknown[]): string =>
  createHash("sha1").update(JSON.stringify(values)).digest("hex").slice(0, 6);

/** What somebody says to a question: always the same to the same. */
export const isRejected = (prompt: string): boolean => digest(prompt) < "4";
export const answerTo = (prompt: string): string => `yes to ${prompt}`;

type Output = Promise<string>;
type Merge = (results: unknown, context: MergeLike) => Output;
type MergeLike = AgentContext & { readonly branches: Readonly<Record<string, BranchLike>> | readonly BranchLike[] };
interface BranchLike {
  readonly messages: AgentContext["llm"]["messages"];
  readonly storage: Pick<AgentContext["storage"], "get">;
  adopt(): void;
}

/** A graph that is being built, without the types of its nodes. */
interface Graph {
  readonly start: object;
  readonly finish: object;
  node(name: string, run: (input: string, context: AgentContext) => Output): object;
  subgraph(name: string, build: (graph: Graph) => void): object;
  parallel(name: string, branches: Readonly<Record<string, object>>, options: object, merge: Merge): object;
  each(name: string, node: object, options: object, merge: Merge): object;
  edge(from: object, to: object, options?: object): void;
}

/** Where a node stands: its path, those of the nodes before it beside it, and that of a node right after it. */
interface Site {
  readonly path: string;
  readonly before: readonly string[];
  readonly next?: string | undefined;
}

/** What a lane has in the log: the version that its next visit is counted from. */
export interface StoredLane {
  readonly base: number;
  readonly ended: boolean;
}

/** A world with a random strategy in it; it outlives the processes. */
export class LinesWorld extends World {
  /** What was not as it has to be. */
  readonly problems: string[] = [];
  /** The requests whose answers were taken. */
  readonly accepted: string[] = [];
  readonly #lines: RandomLines;
  readonly #disturbed: boolean;
  readonly #once = new Set<string>();
  readonly #itemOf = new Map<string, string>();
  #moves: number;
  /** Told at each step of any line. */
  onStep: () => void = () => undefined;
  /** The lanes as the running process found them. */
  found: ReadonlyMap<number, StoredLane> = new Map();
  readonly #book;
  readonly #pay;
  readonly #registry;

  constructor(lines: RandomLines, disturbed = true) {
    super();
    this.#lines = lines;
    this.#disturbed = disturbed;
    this.#moves = lines.moves;
    this.#book = this.adder("book", "idempotent");
    this.#pay = tool({
      name: "pay",
      description: "",
      inputSchema: z.object({ item: z.string() }),
      effect: "idempotent",
      needsApproval: ({ item }) => ({ prompt: `Pay ${item}?` }),
      execute: ({ item }, options) => this.add(item, options, "pay"),
    });
    this.#registry = new RollbackToolRegistry();
    for (const each of [this.#book, this.#pay])
      this.#registry.registerRollback(each, ({ item }, { toolCallId }) => this.remove(toolCallId, item), {
        effect: "idempotent",
      });
  }

  override add(...[item, options, name]: Parameters<World["add"]>): { readonly made: string } {
    const known = this.#itemOf.get(options.toolCallId);
    if (known !== undefined && known !== item) this.problems.push(`one id for "${known}" and "${item}"`);
    this.#itemOf.set(options.toolCallId, item);
    this.onStep();
    return super.add(item, options, name);
  }

  agent(
    storage: PersistenceStorageProvider,
    options: Pick<DurableOptions, "clock" | "onEvent"> = {},
  ): AIAgent<string, string> {
    const turns = Array.from({ length: 500 }, () => (messages: readonly unknown[]) => ({
      toolCalls: ["book", "pay"].map((toolName) => ({
        toolName,
        input: { item: `${toolName} of the model ${digest(withoutCallIds(messages))}` },
      })),
    }));
    return durableAgent(this.#strategy(), storage, {
      automatic: this.#lines.automatic,
      tools: [this.#book, this.#pay],
      registry: this.#registry,
      maxIterations: 10_000,
      turns,
      ...(this.#lines.triggers && {
        triggers: [triggers.afterUserInteraction(), triggers.contextDelta({ bytes: 200 })],
      }),
      ...options,
    });
  }

  #strategy(): Strategy<string, string> {
    return strategy<string, string>("lines", (graph) => this.#build(graph as unknown as Graph, "", this.#lines.body));
  }

  #build(graph: Graph, within: string, body: LineBody): void {
    const path = (at: number) => `${within}n${at}`;
    const nodes = body.map((step, at) => {
      const next = body[at + 1]?.kind === "leaf" ? path(at + 1) : undefined;
      const before = body.slice(0, at).flatMap(({ kind }, each) => (kind === "leaf" ? [path(each)] : []));
      return this.#step(graph, `n${at}`, step, { path: path(at), before, next });
    });
    nodes.forEach((node, at) => {
      const map = body[at]?.kind === "each" ? { map: itemsOf(body[at].items) } : {};
      graph.edge(nodes[at - 1] ?? graph.start, node, map);
    });
    graph.edge(nodes.at(-1) ?? graph.start, graph.finish);
  }

  #step(graph: Graph, name: string, step: LineStep, site: Site): object {
    switch (step.kind) {
      case "leaf":
        return graph.node(name, (input, context) => this.#visit(step.acts, { input, context, site }));
      case "subgraph":
        return graph.subgraph(name, (inner) => this.#build(inner, `${site.path}/`, step.body));
      case "parallel": {
        const branches = step.branches.map((body, at) => [`b${at}`, this.#branch(graph, site, `${name}b${at}`, body)]);
        const { history, onFailure } = step;
        return graph.parallel(name, Object.fromEntries(branches), { history, onFailure }, this.#merge(step, site));
      }
      case "each": {
        const { history, onFailure, concurrency } = step;
        const node = this.#branch(graph, site, `${name}item`, step.body);
        const options = { history, onFailure, concurrency, key: (item: string) => item };
        return graph.each(name, node, options, this.#merge(step, site));
      }
    }
  }

  /** A branch of one node is that node; one of several is a subgraph. */
  #branch(graph: Graph, { path }: Site, name: string, body: LineBody): object {
    const [only] = body;
    const at = path.split("/").slice(0, -1).concat(name).join("/");
    if (body.length === 1 && only?.kind === "leaf")
      return graph.node(name, (input, context) =>
        this.#visit(only.acts, { input, context, site: { path: at, before: [] } }),
      );
    return graph.subgraph(name, (inner) => this.#build(inner, `${at}/`, body));
  }

  #merge({ messages, merge }: LineJoin, site: Site): Merge {
    return async (results, context) => {
      const branches = Array.isArray(context.branches) ? context.branches : Object.values(context.branches);
      if (messages === "append") context.llm.append(...branches.flatMap((branch) => branch.messages));
      if (typeof messages === "number") branches[messages % branches.length]?.adopt();
      const added = branches.map((branch) => branch.storage.get(count) ?? 0);
      const total = added.reduce((sum, each) => sum + each, 0);
      if (branches.length > 0) context.storage.set(count, total);
      return this.#visit(merge, { input: digest(results), context, site });
    };
  }

  async #visit(acts: readonly LineAct[], at: Visited): Output {
    const { context, site, input } = at;
    this.#check(context);
    this.nodes.push(site.path);
    this.onStep();
    if (this.#savesEach && !("branches" in context)) await this.#compare(context);
    const results: unknown[] = [];
    for (const [number, act] of acts.entries()) {
      if (act.kind === "foresee") continue;
      const result = await this.#perform(act, { ...at, place: `${site.path}.${number} ${input}` });
      if (typeof result === "object") return result as never;
      results.push(result);
    }
    const output = digest(site.path, input, results);
    // A resume goes on where this node leads anyway.
    if (site.next !== undefined && acts.some(({ kind }) => kind === "foresee"))
      await persistence(context).createCheckpoint({ nodeId: site.next, lastInput: output });
    return output;
  }

  /** Performs an act: what a text says goes into the output, an object is a move. */
  async #perform(act: LineAct, { context, site, place, input }: Visited & { place: string }): Promise<string | object> {
    const { llm, storage, tools } = context;
    switch (act.kind) {
      case "book":
        return (await tools.call(this.#book, { item: place })).made;
      case "pair": {
        const made = await Promise.all(["l", "r"].map((side) => tools.call(this.#book, { item: `${place} ${side}` })));
        return digest(made);
      }
      case "approve":
        return tools.call(this.#pay, { item: place }).then(({ made }) => made, rejected);
      case "ask":
        return this.#ask(context, place);
      case "askTwo":
        return digest(await Promise.all(["first", "second"].map((which) => this.#ask(context, `${place} ${which}`))));
      case "model": {
        // A checkpoint between an answer and its calls, rolled back to twice: the calls get ids that nobody finds again.
        if (this.#lines.triggers) return "silent";
        const answer = await llm.request();
        llm.append(answer);
        llm.append(await tools.execute(answer));
        return digest(withoutCallIds(llm.messages.slice(-2)));
      }
      case "say":
        llm.append({ role: "user", content: `at ${place}` });
        return "said";
      case "rewrite":
        llm.rewrite((messages) => [{ role: "user", content: "before" }, ...messages.slice(-1)]);
        return "rewritten";
      case "count":
        storage.set(count, (storage.get(count) ?? 0) + 1);
        return `${storage.get(count)}`;
      case "note":
        storage.set(storageKey(`note ${site.path}`, z.string()), site.path);
        return "noted";
      case "forget":
        storage.delete(count);
        return "forgotten";
      case "pause":
        for (let turn = 0; turn < Number.parseInt(digest(place), 16) % 8; turn++) await new Promise(setImmediate);
        return "paused";
      case "save":
        await persistence(context).createCheckpoint().catch(unless("checkpoint_not_possible"));
        return "saved";
      case "fail":
        if (this.#isFirst(`fail ${place}`)) throw new Stopped(place);
        return "passed";
      case "again":
        return this.#again(act.to, { context, site, input });
      case "back":
        return (this.#moves > 0 && this.#isFirst(`back ${place}`) && (await this.#back(act.to, context))) || "here";
      case "foresee":
        return "foreseen";
    }
  }

  async #ask(context: AgentContext, place: string): Promise<string> {
    const prompt = `${place}?`;
    const answer = await context.requestInput({ prompt, schema: z.string() }).catch(rejected);
    const expected = isRejected(prompt) ? "rejected" : answerTo(prompt);
    if (answer !== expected) this.problems.push(`"${prompt}" was answered ${JSON.stringify(answer)}`);
    return answer;
  }

  async #again(to: number, { context, site, input }: Visited): Promise<string | object> {
    const done = storageKey(`again ${site.path}`, z.boolean());
    if (context.storage.get(done)) return "done";
    context.storage.set(done, true);
    const targets = [context.nodeId, ...site.before];
    const nodeId = targets[to % targets.length] ?? context.nodeId;
    const again = nodeId === context.nodeId ? nodeInputOf(context) : input;
    return persistence(context).setExecutionPoint({
      nodeId,
      input: Array.isArray(again) ? again.map(marked) : marked(again),
    });
  }

  async #back(to: number, context: AgentContext): Promise<object | undefined> {
    this.#moves--;
    const p = persistence(context);
    const checkpoints = await p.getCheckpoints();
    const target = checkpoints[to % Math.max(1, checkpoints.length)]?.checkpointId ?? "none";
    return p.rollbackToCheckpoint(target).catch((error: unknown) => {
      const [first, ...others] = ancestorsIn(error);
      if (first === undefined) return undefined;
      return p.rollbackToCheckpoint([first, ...others][to % (others.length + 1)] ?? first);
    });
  }

  #isFirst(what: string): boolean {
    if (!this.#disturbed || this.#once.has(what)) return false;
    this.#once.add(what);
    return true;
  }

  /** Other triggers replace the one that saves after each node. */
  get #savesEach(): boolean {
    return this.#lines.automatic && !this.#lines.triggers;
  }

  /** With automatic checkpoints no node runs again whose end is stored. */
  #check(context: AgentContext): void {
    const { lane } = runOf(context).line;
    const { base } = visitOf(context);
    const stored = this.found.get(lane);
    if (this.#savesEach && stored && (stored.ended || base < stored.base))
      this.problems.push(`${context.nodeId} runs again on lane ${lane}`);
  }

  /** What a node begins with is what another process would find. */
  async #compare(context: AgentContext): Promise<void> {
    const { branch } = runOf(context);
    const stored = (await persistence(context).getCheckpoints()).findLast((each) => each.branch === branch);
    if (!stored) return;
    const live = { messages: context.llm.messages, count: context.storage.get(count) };
    const saved = { messages: stored.messageHistory, count: stored.storage["count"] };
    if (!isDeepStrictEqual(live, saved))
      this.problems.push(`${context.nodeId} has ${JSON.stringify(live)}, stored is ${JSON.stringify(saved)}`);
  }
}

interface Visited {
  readonly input: string;
  readonly context: AgentContext;
  readonly site: Site;
}

/** The items of `graph.each` for an output. */
const itemsOf = (items: number) => (text: string) => Array.from({ length: items }, (_, at) => `${text}-${at}`);

/** Another input than before. */
const marked = (input: unknown): string => `${String(input)}'`;

export function ancestorsIn(error: unknown): readonly string[] {
  const { code, available } = error as { readonly code?: string; readonly available?: readonly string[] };
  if (code === "checkpoint_not_found") return [];
  if (code !== "not_an_ancestor") throw error;
  return available ?? [];
}

function rejected(error: unknown): "rejected" {
  if (error instanceof ToolRejectedError || error instanceof RequestRejectedError) return "rejected";
  throw error;
}

const unless = (code: string) => (error: unknown) => {
  if ((error as { readonly code?: string }).code !== code) throw error;
};

/** A value without the ids of calls, which differ after a rollback. */
export function withoutCallIds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutCallIds);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => key !== "providerToolCallId" && key !== "toolCallId");
  return Object.fromEntries(entries.map(([key, item]) => [key, withoutCallIds(item)]));
}
