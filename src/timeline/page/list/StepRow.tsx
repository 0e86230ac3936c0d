import type { TimelineCall, TimelineStep, TimelineWait, RevertedCall, TimelineItem } from "../../data/TimelineData.ts";
import { durationText, spentTexts, timeText } from "../../layout/durations.ts";
import { stateNames } from "../../layout/shownItems.ts";
import { Glyph } from "./Glyph.tsx";

interface StepRowProps {
  readonly step: TimelineStep;
  readonly isHead: boolean;
  readonly inLine: number;
}

export function StepRow({ step, isHead, inLine }: StepRowProps) {
  const { answers, calls, waits } = step;
  return (
    <div class={`step${step.left === undefined ? "" : ` left ${step.left}`}`}>
      <div class="top">
        <span class="node">{titleOf(step)}</span>
        <Tags step={step} isHead={isHead} />
        <span class="filler" />
        <Spent step={step} />
        {step.next !== undefined && step.ended === undefined && <span class="next">{`→ ${step.next}`}</span>}
        <time>{timeText(step.at)}</time>
      </div>
      {step.begins && step.branch === undefined && <p class="said">{oneLineValue(step.changes.input ?? "")}</p>}
      {answers.map(({ text }) => text !== "" && <p class="said">{firstLine(text)}</p>)}
      {calls.map((group) => (
        <div
          class={`calls${group.length > 1 ? " parallel" : ""}`}
          style={{ "--calls": String(Math.min(group.length, inLine)) }}
        >
          {group.map((call) => (
            <CallChip call={call} />
          ))}
        </div>
      ))}
      {waits.map((wait) => (
        <WaitLine wait={wait} />
      ))}
    </div>
  );
}

function Tags({ step, isHead }: Omit<StepRowProps, "inLine">) {
  return (
    <>
      {isHead && <span class="tag head">head</span>}
      {step.name !== undefined && <span class="tag">{step.name}</span>}
      {step.branch !== undefined && <span class="tag quiet">{step.branch}</span>}
      {step.open !== undefined && <span class={`tag ${step.open}`}>{stateNames[step.open]}</span>}
      {step.ended !== undefined && <span class="tag end">{step.ended}</span>}
      {step.left === "kept" && <span class="tag kept">effects stay</span>}
    </>
  );
}

function Spent({ step }: { readonly step: TimelineStep }) {
  const texts = spentTexts(step);
  if (texts.length === 0) return null;
  return (
    <span class="spent">
      {texts.map((text) => (
        <span>{text}</span>
      ))}
    </span>
  );
}

const moveTitles: Readonly<Record<string, string>> = {
  rollback: "Rolled back",
  execution_point: "Moved",
  branch: "Branched off",
  fork: "Forked",
  edit: "Edited",
  migration: "Migrated",
};

export function titleOf({ node, move, begins, branch, checkpoint }: TimelineStep): string {
  if (move !== undefined) return moveTitles[move] ?? move.replaceAll("_", " ");
  if (begins) return branch === undefined ? "Run" : "Branch";
  return node ?? (checkpoint === undefined ? "Now" : "Checkpoint");
}

function CallChip({ call }: { readonly call: TimelineCall }) {
  const { tool, state, input } = call;
  return (
    <span class={`call ${state}`} title={`${tool}: ${stateNames[state].toLowerCase()}`}>
      <Glyph of={state} />
      <span class="unseen">{`${stateNames[state]}: `}</span>
      {state === "reverted" ? <s class="tool">{tool}</s> : <b class="tool">{tool}</b>}
      <span class="input">{oneLineValue(input)}</span>
    </span>
  );
}

function WaitLine({ wait }: { readonly wait: TimelineWait }) {
  const { asked, state, askedAt, answeredAt } = wait;
  const after = askedAt !== undefined && answeredAt !== undefined ? `after ${durationText(answeredAt - askedAt)}` : "";
  return (
    <div class={`wait ${state}`}>
      <p>
        <b>{wait.what}</b> {firstLine(asked)}
      </p>
      <p class="reply">
        <Glyph of={state === "open" ? "waiting" : state === "answered" ? "succeeded" : "failed"} />
        {state === "open"
          ? "waits for an answer"
          : [state, wait.by && `by ${wait.by}`, after].filter(Boolean).join(" ")}
        {wait.answer !== undefined && <q>{oneLineValue(wait.answer)}</q>}
      </p>
    </div>
  );
}

function firstLine(text: string): string {
  return text.slice(0, 400).replaceAll(/\s+/g, " ").trim();
}

/** Returns the first line of a value without enclosing braces or quotes. */
function oneLineValue(text: string): string {
  const line = firstLine(text);
  return line.startsWith("{ ") && line.endsWith(" }") ? line.slice(2, -2) : line.replace(/^"([^"]*)"$/, "$1");
}

type MarkItem = Exclude<TimelineItem, TimelineStep>;

/** A one-line row for a run, a rollback, an owner, a status change or damage. */
export function MarkRow({ item }: { readonly item: MarkItem }) {
  return (
    <div class={`marker ${item.kind}${item.kind === "owner" && item.cut ? " cut" : ""}`}>
      <span class="words">
        <b>{titleOfMark(item)}</b> {textOfMark(item)}
      </span>
      <time>{timeText(item.at)}</time>
    </div>
  );
}

export function GapRow({ milliseconds }: { readonly milliseconds: number }) {
  return (
    <div class="pause">
      <span>{`${durationText(milliseconds)} later`}</span>
    </div>
  );
}

export function titleOfMark(item: MarkItem): string {
  switch (item.kind) {
    case "run":
      return "Run";
    case "rollback":
      return `${item.redo ? "Redo" : "Rollback"}${item.finished ? "" : ", not finished"}`;
    case "owner":
      return item.cut ? "Taken over after a crash" : "New owner";
    case "note":
      return item.title;
    case "damage":
      return "Damage";
  }
}

function textOfMark(item: MarkItem): string {
  switch (item.kind) {
    case "run":
      return oneLineValue(item.input);
    case "rollback":
      return rollbackText(
        item.calls.map(({ result }) => result),
        item.finished,
      );
    case "owner":
      return `generation ${item.generation}`;
    case "note":
      return oneLineValue(item.text ?? "");
    case "damage":
      return item.text;
  }
}

function rollbackText(results: readonly RevertedCall["result"][], finished: boolean): string {
  const countOf = (...kinds: readonly RevertedCall["result"][]): number =>
    results.filter((result) => kinds.includes(result)).length;
  const [reverted, failed, open] = [countOf("reverted"), countOf("failed"), countOf("failed", "pending")];
  const stay = countOf("irreversible", "skipped");
  if (results.length === 0) return "no calls to revert";
  return [
    `${reverted} reverted`,
    open > 0 && `${open} ${finished ? "not reverted" : "to go"}${failed > 0 ? ` (${failed} failed)` : ""}`,
    stay > 0 && `${stay} ${stay === 1 ? "effect stays" : "effects stay"}`,
  ]
    .filter(Boolean)
    .join(", ");
}
