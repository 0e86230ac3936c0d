import { useRef } from "preact/hooks";
import type { ComparedRun, ComparisonData } from "../../data/comparedRuns.ts";
import { durationText, moneyText } from "../../layout/durations.ts";
import { TextDifference } from "../details/StateParts.tsx";
import { ComparedStepRow } from "./ComparedStepRow.tsx";

/** Two runs side by side. */
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

type Row = readonly [name: string, text: (run: ComparedRun) => string];

const rows: readonly Row[] = [
  ["agent", ({ agent }) => agent],
  ["run", ({ run }) => run],
  ["status", ({ status }) => status.replaceAll("_", " ")],
  ["models", ({ models }) => models || "–"],
  ["model requests", ({ requests }) => String(requests)],
  ["calls", ({ calls }) => String(calls)],
  ["tokens", ({ tokens }) => tokens?.toLocaleString("en") ?? "–"],
  ["cost", ({ cost }) => (cost ? moneyText(cost) : "–")],
  ["time", ({ took }) => (took === undefined ? "–" : durationText(took))],
];

function Figures({ before, after }: { readonly before: ComparedRun; readonly after: ComparedRun }) {
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
