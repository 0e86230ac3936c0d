import { resolve } from "node:path";
import {
  type ChangedPart,
  compareRuns,
  readRunTrace,
  type ComparedCall,
  type ComparedStep,
  type RunComparison,
  type RunSummary,
  type TraceCall,
  type ValueDifference,
} from "../../replay.ts";
import { comparisonPage } from "../../timeline.ts";
import { findAgent } from "../ids/findLog.ts";
import type { CommonOptions, Session } from "../session/Session.ts";
import { CommandFailure, type ExitReason } from "../terminal/CommandFailure.ts";
import { writeOver } from "../storage/commandFiles.ts";
import { pricesIn, messageText, statusOf } from "./shown.ts";
import { durationText, moneyText, shortCount } from "../../timeline/layout/durations.ts";
import type { Output } from "../terminal/Output.ts";
import { type Paint, painted, type Part } from "../terminal/painted.ts";
import { shortValue } from "../terminal/shortTexts.ts";

export interface CompareCommandOptions extends CommonOptions {
  readonly run?: string | undefined;
  readonly otherRun?: string | undefined;
  readonly prices?: string | undefined;
  readonly out?: string | undefined;
}

/** `compare <agent> [other]`: shows what differs between two runs. */
export async function compare(
  session: Session,
  { run, otherRun, prices: file, out }: CompareCommandOptions,
  given: string,
  other?: string,
): Promise<ExitReason | void> {
  const { output, io } = session;
  if (other === undefined && otherRun === undefined)
    throw new CommandFailure("usage", "Name the second run: another agent, or --other-run <run> of the same agent.");
  const storage = await session.storage();
  const agentId = await findAgent(storage, given);
  const otherId = other === undefined ? agentId : await findAgent(storage, other);
  const prices = await pricesIn(io, file);
  const before = await readRunTrace(storage, { agentId, runId: run });
  const after = await readRunTrace(storage, { agentId: otherId, runId: otherRun });
  const comparison = compareRuns(before, after, { prices });
  if (out !== undefined) await writeOver(resolve(io.cwd, out), comparisonPage(before, after, { prices }));
  if (output.json) await output.document(comparison);
  else {
    await comparisonLines(output, comparison);
    if (out !== undefined) await output.line(`Wrote ${resolve(io.cwd, out)}.`);
  }
  return comparison.isSame ? undefined : "differs";
}

const signs: Readonly<Record<ComparedStep["change"], readonly [sign: string, paint: Paint]>> = {
  same: ["=", "dim"],
  changed: ["~", "yellow"],
  added: ["+", "green"],
  removed: ["-", "red"],
};

const longest = 500;

export async function comparisonLines(output: Output, comparison: RunComparison): Promise<void> {
  const { before, after, steps, firstDivergence, isSame } = comparison;
  await output.table(["", "BEFORE", "AFTER"], summaryRows(before, after));
  await output.line();
  await output.table(["", "STEP", "NODE", "CALLS", "TOKENS", "TIME"], steps.map(stepRow));
  const first = firstDivergence === undefined ? undefined : steps[firstDivergence];
  await output.line();
  if (first) await output.line(`The first difference is in step ${(firstDivergence ?? 0) + 1}, node ${first.node}.`);
  else await output.line(isSame ? "The runs are the same." : "All steps are the same.");
  for (const [index, step] of steps.entries()) if (step.change !== "same") await stepLines(output, step, index);
  for (const name of ["input", "status", "output", "error"] as const) {
    const changed = comparison[name];
    if (changed) await changedLines(output, name, changed);
  }
}

function summaryRows(before: RunSummary, after: RunSummary): readonly (readonly Part[])[] {
  const row = (title: string, text: (run: RunSummary) => Part): readonly Part[] => [title, text(before), text(after)];
  return [
    row("agent", ({ agentId }) => agentId),
    row("run", ({ runId }) => runId),
    row("status", ({ status }) => statusOf(status)),
    row("steps", ({ visits }) => String(visits)),
    row("model requests", ({ modelRequests }) => String(modelRequests)),
    row("calls", ({ calls }) => String(calls)),
    row("models", ({ models }) => models.join(", ") || "–"),
    row("tokens", ({ usage }) => tokensText(usage.totalTokens)),
    ...(before.cost ? [row("cost", ({ cost }) => (cost ? moneyText(cost) : "–"))] : []),
    row("time", ({ durationMs }) => timeOf(durationMs)),
  ];
}

function stepRow({ change, node, branch, agentPath, before, after, calls }: ComparedStep, index: number) {
  const [sign, paint] = signs[change];
  const place = [...(agentPath ?? []), branch, node].filter((name) => name !== undefined).join(" / ");
  return [
    painted(paint, sign),
    String(index + 1),
    painted(paint, place),
    calls.map((call) => `${signs[call.change][0]}${call.tool}`).join(" "),
    sides(tokensText(before?.totalTokens), tokensText(after?.totalTokens)),
    sides(timeOf(before?.durationMs), timeOf(after?.durationMs)),
  ];
}

function sides(before: string, after: string): string {
  return before === after ? before : `${before} → ${after}`;
}

function tokensText(count: number | undefined): string {
  return count === undefined ? "–" : shortCount(count);
}

function timeOf(milliseconds: number | undefined): string {
  return milliseconds === undefined ? "–" : durationText(milliseconds);
}

async function stepLines(output: Output, step: ComparedStep, index: number): Promise<void> {
  await output.line();
  await output.line(painted("bold", `Step ${index + 1}: ${step.node}`));
  for (const call of step.calls) await callLines(output, call);
  for (const { change, item } of step.messages) {
    const { role, text } = messageText({ message: { value: item } });
    await signed(output, change, `${role}: ${text}`);
  }
  if (step.removedMessages) await changedLines(output, "removed messages", step.removedMessages);
  for (const { change, item } of step.waits)
    await signed(output, change, `${item.kind} ${item.state}: ${shortValue(item.prompt, longest)}`);
  if (step.output && step.messages.length + step.calls.length === 0) await changedLines(output, "output", step.output);
}

async function callLines(output: Output, { change, tool, before, after, input, isOutcomeChanged }: ComparedCall) {
  const call = after ?? before;
  if (change !== "changed") return signed(output, change, `${tool} ${shortValue(call?.input, longest)}`);
  await signed(output, change, tool);
  for (const part of input) await differenceLines(output, part);
  if (isOutcomeChanged) await changedLines(output, "outcome", { before: outcomeOf(before), after: outcomeOf(after) });
}

function outcomeOf(call: TraceCall | undefined): unknown {
  return call?.error ?? call?.output ?? call?.state;
}

async function differenceLines(output: Output, { path, before, after }: ValueDifference): Promise<void> {
  await changedLines(output, path.length === 0 ? "input" : `input.${path.join(".")}`, { before, after });
}

async function changedLines(output: Output, name: string, { before, after }: ChangedPart): Promise<void> {
  await output.line(
    `  ${name}: `,
    painted("red", shortValue(before, longest)),
    " → ",
    painted("green", shortValue(after, longest)),
  );
}

async function signed(output: Output, change: ComparedStep["change"], text: string): Promise<void> {
  const [sign, paint] = signs[change];
  for (const line of text.split("\n")) await output.line(painted(paint, `${sign} ${line}`));
}
