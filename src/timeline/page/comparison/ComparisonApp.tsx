import { useRef, useState } from "preact/hooks";
import type { RunSummary } from "../../../replay/compare/RunComparison.ts";
import type { ComparisonData, ComparedRow, ComparedSide } from "../../data/comparedRuns.ts";
import { durationText, moneyText, spentTexts } from "../../layout/durations.ts";
import { TextDifference } from "../details/StateParts.tsx";
import { MessageBlock } from "../details/Conversation.tsx";

export function ComparisonApp({ data: { comparison } }: { readonly data: ComparisonData }) {
  const { before, after, steps, parts, first, isSame } = comparison;
  const list = useRef<HTMLOListElement>(null);
  const showFirst = () => {
    const row = list.current?.children[first ?? 0]?.querySelector("summary");
    row?.scrollIntoView({ block: "center" });
    row?.focus();
  };
  return (
    <main class="comparison">
      <header>
        <h1>Two runs</h1>
        <p>
          {isSame
            ? "The runs are the same."
            : `${steps.filter(({ change }) => change !== "same").length} of ${steps.length} steps differ.`}{" "}
          {first !== undefined && (
            <button type="button" onClick={showFirst}>
              Go to the first difference
            </button>
          )}
        </p>
        <Figures before={before} after={after} />
      </header>
      {parts.map(({ name, before: old, after: current }) => (
        <section class="block">
          <h2>{name}</h2>
          <TextDifference before={old} after={current} />
        </section>
      ))}
      <section aria-label="Steps">
        <h2>Steps</h2>
        <ol class="pairs" ref={list}>
          {steps.map((step, index) => (
            <ComparedStepRow step={step} isFirst={index === first} />
          ))}
        </ol>
      </section>
    </main>
  );
}

type Row = readonly [name: string, text: (run: RunSummary) => string];

const rows: readonly Row[] = [
  ["agent", ({ agentId }) => agentId],
  ["run", ({ runId }) => runId],
  ["status", ({ status }) => status.replaceAll("_", " ")],
  ["models", ({ models }) => models.join(", ") || "–"],
  ["model requests", ({ modelRequests }) => String(modelRequests)],
  ["calls", ({ calls }) => String(calls)],
  ["tokens", ({ usage }) => usage.totalTokens?.toLocaleString("en") ?? "–"],
  ["cost", ({ cost }) => (cost ? moneyText(cost) : "–")],
  ["time", ({ durationMs }) => (durationMs === undefined ? "–" : durationText(durationMs))],
];

function Figures({ before, after }: { readonly before: RunSummary; readonly after: RunSummary }) {
  return (
    <table>
      <thead>
        <tr>
          <td />
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, text]) => (
          <tr class={text(before) === text(after) ? "" : "differs"}>
            <th scope="row">{name}</th>
            <td>{text(before)}</td>
            <td>{text(after)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface ComparedStepRowProps {
  readonly step: ComparedRow;
  /** Whether this is the first step that differs. */
  readonly isFirst: boolean;
}

/** A step in both runs side by side. Opens to show the differences. */
function ComparedStepRow({ step, isFirst }: ComparedStepRowProps) {
  const { change, title, before, after } = step;
  const [open, setOpen] = useState(isFirst);
  const isSame = change === "same";
  const sides = (
    <>
      <Side title={title} side={before} />
      <Side title={title} side={after} />
      <span class={`tag ${isSame ? "quiet" : change}`}>{isFirst ? `${change}, first difference` : change}</span>
    </>
  );
  if (isSame) return <li class="pair same">{sides}</li>;
  return (
    <li class={change}>
      <details open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary class="pair">{sides}</summary>
        {open && <Differences step={step} />}
      </details>
    </li>
  );
}

function Side({ title, side }: { readonly title: string; readonly side: ComparedSide | undefined }) {
  if (!side) return <span class="side empty">–</span>;
  return (
    <span class="side">
      <span class="node">{title}</span>
      {side.calls.length > 0 && <span class="calls">{side.calls.join(", ")}</span>}
      <span class="spent">{spentTexts(side).join(" · ")}</span>
    </span>
  );
}

function Differences({ step: { messages, parts } }: { readonly step: ComparedRow }) {
  const of = (wanted: "added" | "removed") => messages.filter(({ change }) => change === wanted);
  return (
    <div class="differences">
      {messages.length > 0 && (
        <div class="sides">
          <div class="gone">
            {of("removed").map(({ message }) => (
              <MessageBlock message={message} isNew={false} />
            ))}
          </div>
          <div>
            {of("added").map(({ message }) => (
              <MessageBlock message={message} isNew={false} />
            ))}
          </div>
        </div>
      )}
      {parts.map(({ name, before, after }) => (
        <section class="block">
          <h3>{name}</h3>
          <TextDifference before={before} after={after} />
        </section>
      ))}
    </div>
  );
}
