import { withoutUndefined } from "../../internal/withoutUndefined.ts";
import { compareRuns } from "../../replay/compare/compareRuns.ts";
import type {
  ChangedPart,
  ComparedCall,
  ComparedStep,
  RunSummary,
  StepSummary,
} from "../../replay/compare/RunComparison.ts";
import type { RunTrace, TraceVisit } from "../../replay/trace/RunTrace.ts";
import { redactionOf, type TimelineOptions } from "../options/TimelineOptions.ts";
import { ShownTexts } from "./ShownTexts.ts";
import type { HiddenValues } from "../options/Redaction.ts";
import type { TimelineMessage } from "./TimelineData.ts";

/** The data of a page that compares two runs, without hidden values. */
export interface ComparisonData {
  readonly comparison: {
    readonly isSame: boolean;
    readonly before: RunSummary;
    readonly after: RunSummary;
    /** The index of the first step that differs. */
    readonly first?: number;
    readonly steps: readonly ComparedRow[];
    /** The parts of the runs that differ, such as the output. */
    readonly parts: readonly TextChange[];
    readonly hidden: HiddenValues;
  };
}

export interface ComparedRow {
  readonly change: "same" | "changed" | "added" | "removed";
  readonly title: string;
  /** Omitted if only the second run has the step. */
  readonly before?: ComparedSide;
  /** Omitted if only the first run has the step. */
  readonly after?: ComparedSide;
  readonly messages: readonly { readonly change: "added" | "removed"; readonly message: TimelineMessage }[];
  readonly parts: readonly TextChange[];
}

/** A step as it is in one run. */
export interface ComparedSide {
  readonly calls: readonly string[];
  readonly tokens?: number;
  readonly took?: number;
}

interface TextChange extends ChangedPart<string> {
  readonly name: string;
}

export function comparedRuns(before: RunTrace, after: RunTrace, options: TimelineOptions): ComparisonData {
  const redaction = redactionOf(options);
  const texts = new ShownTexts(redaction);
  const comparison = compareRuns(before, after, { prices: options.prices });
  const { isSame, input, status, output, error, steps } = comparison;
  const shown = {
    isSame,
    before: shownRun(comparison.before, texts),
    after: shownRun(comparison.after, texts),
    first: comparison.firstDivergence,
    steps: steps.map((step) => comparedRow(step, { before, after }, texts)),
    parts: [
      ...textChanges("Input", input, ["input"], texts),
      ...textChanges("Status", status, [], texts),
      ...textChanges("Output", output, ["output"], texts),
      ...textChanges("Error", error, [], texts),
    ],
  };
  const { hidden } = redaction;
  options.onHidden?.(hidden);
  return { comparison: withoutUndefined({ ...shown, hidden }) };
}

function shownRun(run: RunSummary, texts: ShownTexts): RunSummary {
  return { ...run, agentId: texts.text(run.agentId), runId: texts.text(run.runId) };
}

interface Runs {
  readonly before: RunTrace;
  readonly after: RunTrace;
}

function comparedRow(step: ComparedStep, runs: Runs, texts: ShownTexts): ComparedRow {
  const { change, node, branch, agentPath, calls, messages, waits, output } = step;
  return withoutUndefined({
    change,
    title: [...(agentPath ?? []), branch, node].filter((name) => name !== undefined).join(" / "),
    before: comparedSide(step.before, runs.before.visits, texts),
    after: comparedSide(step.after, runs.after.visits, texts),
    messages: messages.map(({ change: changed, item }, number) => ({
      change: changed,
      message: texts.message({ number, message: { value: item } }),
    })),
    parts: [
      ...calls.flatMap((call) => callChanges(call, texts)),
      ...waits.flatMap(({ change: changed, item }) =>
        textChanges(`Wait: ${item.kind}`, changed === "added" ? { after: item } : { before: item }, ["wait"], texts),
      ),
      ...(messages.length + calls.length === 0 ? textChanges("Output", output, ["output"], texts) : []),
    ],
  });
}

function comparedSide(
  summary: StepSummary | undefined,
  visits: readonly TraceVisit[],
  texts: ShownTexts,
): ComparedSide | undefined {
  if (!summary) return undefined;
  const { index, durationMs, totalTokens } = summary;
  const calls = (visits[index]?.calls ?? []).map(({ tool }) => texts.text(tool));
  return withoutUndefined({ calls, tokens: totalTokens, took: durationMs });
}

function callChanges({ change, tool, before, after, input, isOutcomeChanged }: ComparedCall, texts: ShownTexts) {
  const isInput = change !== "changed" || input.length > 0;
  return [
    ...(isInput ? textChanges(`${tool}: input`, sidesOf(before, after, "input"), [tool, "input"], texts) : []),
    ...(change !== "changed" || isOutcomeChanged
      ? textChanges(`${tool}: outcome`, sidesOf(before, after, "output"), [tool, "output"], texts)
      : []),
  ];
}

/** Returns the input of a call in both runs, or its output, error or state. */
function sidesOf(before: ComparedCall["before"], after: ComparedCall["after"], part: "input" | "output"): ChangedPart {
  const of = (call: ComparedCall["before"]) =>
    part === "input" ? call?.input : (call?.output ?? call?.error ?? call?.state);
  return { ...(before && { before: of(before) }), ...(after && { after: of(after) }) };
}

function textChanges(
  name: string,
  change: ChangedPart | undefined,
  path: readonly string[],
  texts: ShownTexts,
): readonly TextChange[] {
  if (!change) return [];
  const textOf = (value: unknown) => (value === undefined ? undefined : texts.plain(value, path));
  return [withoutUndefined({ name, before: textOf(change.before), after: textOf(change.after) })];
}
