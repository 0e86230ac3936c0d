import type { TimelineCall, TimelineStep, TimelineWait } from "../../data/TimelineData.ts";
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

/** Formats a value on one short line without the braces around it. */
export function oneLineValue(text: string): string {
  const line = firstLine(text);
  return line.startsWith("{ ") && line.endsWith(" }") ? line.slice(2, -2) : line.replace(/^"([^"]*)"$/, "$1");
}
