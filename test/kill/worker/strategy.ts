import {
  callModel,
  callTools,
  hasToolCalls,
  storageKey,
  strategy,
  textOf,
  ToolFailedError,
  type AgentContext,
  type Message,
  type Strategy,
  type ToolMessage,
} from "agent-persistence";
import { z } from "zod";
import type { LedgerTools } from "./tools.ts";

/** Of six nodes each. */
export const rounds = 5;

const Booked = storageKey("booked", z.array(z.string()));
const Round = storageKey("round", z.int());

/**
 * Thirty node visits: a turn of the model, its calls at once, calls made by code, and a subgraph in which one node asks the
 * model and acts. Everything that a checkpoint keeps changes on the way.
 */
export function ledgerStrategy(tools: LedgerTools): Strategy<string, string> {
  return strategy<string, string>("ledger", (graph) => {
    const plan = graph.node("plan", callModel);
    const act = graph.node("act", callTools);
    const settle = graph.node("settle", (results: ToolMessage, context) => settleRound(results, context, tools));
    const audit = graph.subgraph<number, number>("audit", (inner) => {
      const review = inner.node("review", reviewRound);
      const stamp = inner.node("stamp", (text: string, context) => stampRound(text, context, tools));
      const close = inner.node("close", closeRound);
      inner.edge(inner.start, review);
      inner.edge(review, stamp);
      inner.edge(stamp, close);
      inner.edge(close, inner.finish);
    });
    graph.edge(graph.start, plan);
    graph.edge(plan, act, { when: hasToolCalls });
    graph.edge(act, settle);
    graph.edge(settle, audit);
    graph.edge(audit, plan, { when: (round) => round < rounds, map: (round) => `Go on with round ${round}.` });
    graph.edge(audit, graph.finish, { map: (round) => `${round} rounds` });
  });
}

/** Calls made by code: one after the other, at once, one that fails, and one without a declared effect. */
async function settleRound(results: ToolMessage, context: AgentContext, tools: LedgerTools): Promise<number> {
  context.llm.append(results);
  const round = roundOf(context);
  const first = await context.tools.call(tools.charge, { account: `c${round}`, amount: round });
  note(context, first.receipt);
  const reason = await context.tools.call(tools.refuse, { account: `s${round}` }).then(
    () => "accepted",
    (error: unknown) => (error instanceof ToolFailedError ? error.reason : "lost"),
  );
  context.recordDecision({ decision: `leave s${round} alone`, reason });
  const { worth } = await context.tools.call(tools.look, { account: `c${round}` });
  const both = await Promise.all([
    context.tools.call(tools.charge, { account: `d${round}`, amount: worth }),
    context.tools.call(tools.charge, { account: `d${round}`, amount: worth }),
  ]);
  note(context, ...both.map(({ receipt }) => receipt));
  const last = await context.tools.call(tools.transfer, { account: `e${round}`, amount: round });
  note(context, last.receipt);
  return both.length;
}

/** Asks the model and acts in one visit, so that a crash finds the answer recorded and the node unfinished. */
async function reviewRound(count: number, context: AgentContext): Promise<string> {
  context.llm.append({ role: "user", content: `Review ${count} entries.` });
  const answer = await context.llm.request();
  context.llm.append(answer);
  const results = await context.tools.execute(answer);
  context.llm.append(results);
  return `${textOf(answer)}${results.content.length}`;
}

async function stampRound(text: string, context: AgentContext, tools: LedgerTools): Promise<string> {
  const { receipt } = await context.tools.call(tools.charge, { account: `f${roundOf(context)}`, amount: text.length });
  context.setProgress((100 * (roundOf(context) + 1)) / rounds, `round ${roundOf(context)} stamped`);
  return receipt;
}

/** Changes the history in the middle, settings and requirements once, and storage always. */
function closeRound(receipt: string, context: AgentContext): number {
  const round = roundOf(context) + 1;
  context.storage.set(Round, round);
  note(context, receipt);
  context.require({ environment: { [`ROUND_${round}`]: "*" } });
  if (round === 2) context.llm.configure({ model: "second", parameters: { temperature: 0.5 } });
  if (round % 2 === 0) context.llm.rewrite((messages) => messages.map(shorten));
  return round;
}

function shorten(message: Message): Message {
  return message.role === "user" ? { role: "user", content: "(said before)" } : message;
}

function roundOf(context: AgentContext): number {
  return context.storage.get(Round) ?? 0;
}

function note(context: AgentContext, ...receipts: readonly string[]): void {
  context.storage.set(Booked, [...(context.storage.get(Booked) ?? []), ...receipts]);
}
