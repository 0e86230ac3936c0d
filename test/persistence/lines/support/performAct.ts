import { isDeepStrictEqual } from "node:util";
import { persistence, storageKey, type AgentContext, type AnyTool, type Tool } from "agent-persistence";
import { z } from "zod";
import { nodeInputOf, runOf, visitOf } from "../../../../src/agent/feature/ContextBinding.ts";
import { Stopped } from "../../support/durableAgent.ts";
import { ancestorsIn, answerTo, comparable, count, digest, fateOf, type LinesWorld, unanswered } from "./LinesWorld.ts";
import type { LineAct } from "./randomLines.ts";

type Output = Promise<string>;

/** Together they are enough for a snapshot. */
const bulkNotes = 120;
const noteLength = 9_000;

export type CalledAgent = Tool<{ topic: string }, string>;

/** Who runs a graph: the agent of the run, or one that is called. */
export interface Actor {
  /** What the paths of its nodes begin with where they name what is done. */
  readonly name: string;
  /** The agents that it calls. */
  readonly agents: readonly CalledAgent[];
  /** Its tool for files. Absent: it writes none. */
  readonly writes: AnyTool | undefined;
  /** Whether it saves after each node. */
  readonly saves: boolean;
  /** What fails it is seen by a model, which would go another way. */
  readonly isSeen: boolean;
}

/** Where a node stands: its path, those of the nodes before it beside it, and that of a node right after it. */
export interface Site {
  readonly path: string;
  readonly before: readonly string[];
  readonly next?: string | undefined;
}

/** A node that runs. */
export interface Visited {
  readonly world: LinesWorld;
  readonly actor: Actor;
  readonly site: Site;
  readonly input: string;
  readonly context: AgentContext;
}

/** What a node does. What a move comes to is no output. */
export async function performActs(acts: readonly LineAct[], visited: Visited): Output {
  const { world, actor, context, site, input } = visited;
  checkVisit(visited);
  world.nodes.push(site.path);
  world.onStep();
  if (actor.saves && !("branches" in context)) await compare(visited);
  const results: unknown[] = [];
  for (const [number, act] of acts.entries()) {
    if (act.kind === "foresee") continue;
    const result = await performAct(act, { ...visited, place: `${actor.name}${site.path}.${number} ${input}` });
    if (typeof result === "object") return result as never;
    results.push(result);
  }
  const output = digest(site.path, input, results);
  // A resume goes on where this node leads anyway.
  if (site.next !== undefined && acts.some(({ kind }) => kind === "foresee"))
    await persistence(context).createCheckpoint({ nodeId: site.next, lastInput: output });
  return output;
}

/** With automatic checkpoints no node runs again whose end is stored. */
function checkVisit({ world, actor, context }: Visited): void {
  const { lane } = runOf(context).line;
  const { base } = visitOf(context);
  const stored = world.found.lanes.get(lane);
  if (actor.saves && stored && (stored.ended || base < stored.base))
    world.problems.push(`${actor.name}${context.nodeId} runs again on lane ${lane}`);
}

/** What a node begins with is what another process would find. */
async function compare({ world, context }: Visited): Promise<void> {
  const { branch, agentPath } = runOf(context);
  const { base } = visitOf(context);
  // One agent may be called many times at once.
  const stored = (await persistence(context).getCheckpoints()).findLast((each) =>
    agentPath.length > 0 ? each.version === base : each.agentPath.length === 0 && each.branch === branch,
  );
  if (!stored) return;
  const live = { messages: context.llm.messages, count: context.storage.get(count) };
  const saved = { messages: stored.messageHistory, count: stored.storage["count"] };
  if (!isDeepStrictEqual(live, saved))
    world.problems.push(`${context.nodeId} has ${JSON.stringify(live)}, stored is ${JSON.stringify(saved)}`);
}

/** A node with the place of one of its acts, the same in every life. */
type Placed = Visited & { readonly place: string };

/** Performs an act: what a text says goes into the output, an object is a move. */
async function performAct(act: LineAct, placed: Placed): Promise<string | object> {
  const { world, actor, site, place, context } = placed;
  const { llm, storage, tools } = context;
  switch (act.kind) {
    case "book":
      return (await tools.call(world.book, { item: place })).made;
    case "ship":
      return (await tools.call(world.ship, { item: place })).made;
    case "pair": {
      const sides = ["l", "r"].map((side) => tools.call(world.book, { item: `${place} ${side}` }));
      return digest(await Promise.all(sides));
    }
    case "approve":
      return tools.call(world.pay, { item: place }).then(({ made }) => made, unanswered);
    case "ask":
      return ask(placed, place);
    case "askTwo":
      return digest(await Promise.all(["first", "second"].map((which) => ask(placed, `${place} ${which}`))));
    case "consult":
      return consult(act.agents, placed);
    case "model": {
      const answer = await llm.request();
      llm.append(answer);
      llm.append(await tools.execute(answer));
      return digest(comparable(llm.messages.slice(-2)));
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
    case "bulk":
      // Once: each reader reads it.
      for (let at = world.isFirst("bulk") ? 0 : bulkNotes; at < bulkNotes; at++)
        persistence(context).note({ key: "bulk", value: digest(place, at).padEnd(noteLength, ".") });
      return "noted much";
    case "write":
      return write(placed, place);
    case "pause":
      for (let turn = 0; turn < Number.parseInt(digest(place), 16) % 8; turn++) await new Promise(setImmediate);
      return "paused";
    case "save":
      await persistence(context).createCheckpoint().catch(unless("checkpoint_not_possible"));
      return "saved";
    case "name":
      // The same may happen in two places where a model decides, and after a list without items.
      if (!actor.isSeen && !world.hasEmptyList)
        await persistence(context)
          .createCheckpoint({ checkpointId: `at ${place}` })
          .catch(unless("checkpoint_not_possible"));
      return "named";
    case "fail":
      if (!actor.isSeen && world.isFirst(`fail ${place}`)) throw new Stopped(place);
      return "passed";
    case "again":
      return again(act.to, placed);
    case "back":
      return (world.moves > 0 && world.isFirst(`back ${place}`) && (await back(act.to, placed))) || "here";
    case "foresee":
      return "foreseen";
  }
}

/** The same may happen in two places where a model decides, and after a list without items. */
async function write({ world, actor, context }: Placed, place: string): Output {
  if (!actor.writes || actor.isSeen || world.hasEmptyList) return "written";
  for (const content of ["draft", place])
    await context.tools.call(actor.writes as never, { path: digest(place), content } as never);
  return "written";
}

async function ask({ world, context }: Placed, place: string): Output {
  const prompt = `${place}?`;
  const answer = await context.requestInput({ ...world.question(prompt), schema: z.string() }).catch(unanswered);
  const fate = fateOf(prompt);
  const expected = fate === "answered" ? answerTo(prompt) : fate;
  if (answer !== expected) world.problems.push(`"${prompt}" was answered ${JSON.stringify(answer)}`);
  return answer;
}

async function consult(wanted: readonly number[], { actor: { agents }, place, context }: Placed): Output {
  const calls = wanted.flatMap((each, at) => {
    const agent = agents[each % Math.max(1, agents.length)];
    return agent ? [context.tools.call(agent, { topic: digest(place, at) }).catch(unanswered)] : [];
  });
  return digest(await Promise.all(calls));
}

async function again(to: number, { context, site, input }: Placed): Promise<string | object> {
  const done = storageKey(`again ${site.path}`, z.boolean());
  if (context.storage.get(done)) return "done";
  context.storage.set(done, true);
  const targets = [context.nodeId, ...site.before];
  const nodeId = targets[to % targets.length] ?? context.nodeId;
  const given = nodeId === context.nodeId ? nodeInputOf(context) : input;
  return persistence(context).setExecutionPoint({
    nodeId,
    input: Array.isArray(given) ? given.map((item) => marked(item, site)) : marked(given, site),
  });
}

async function back(to: number, { world, context }: Placed): Promise<object | undefined> {
  world.moves--;
  const p = persistence(context);
  const checkpoints = await p.getCheckpoints();
  const target = checkpoints[to % Math.max(1, checkpoints.length)]?.checkpointId ?? "none";
  return p.rollbackToCheckpoint(target).catch((error: unknown) => {
    const [first, ...others] = ancestorsIn(error);
    if (first === undefined) return undefined;
    return p.rollbackToCheckpoint([first, ...others][to % (others.length + 1)] ?? first);
  });
}

/** Another input than before, and than that of a move from anywhere else. */
const marked = (input: unknown, { path }: Site): string => `${String(input)} ${digest(path)}`;

const unless = (code: string) => (error: unknown) => {
  if ((error as { readonly code?: string }).code !== code) throw error;
};
