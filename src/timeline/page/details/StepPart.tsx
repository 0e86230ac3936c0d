import type { TimelineCall, TimelineStep, TimelineWait } from "../../data/TimelineData.ts";
import { costText, durationText, dateText } from "../../layout/durations.ts";
import { StateLabel } from "../list/Glyph.tsx";
import { TextBlock } from "./Conversation.tsx";

export function StepPart({ step }: { readonly step: TimelineStep }) {
  const { answers, calls, waits } = step;
  return (
    <>
      <Facts step={step} />
      {answers.map(({ text, model, finish, tokens, failed }) => (
        <section class="block">
          <h3>Model answer</h3>
          {failed.map((message) => (
            <p class="warning">{`An earlier request failed: ${message}`}</p>
          ))}
          {text === "" ? <p class="empty">Only tool calls.</p> : <TextBlock text={text} prose />}
          <p class="label">
            {[model, finish && `finish: ${finish}`, tokens && `${tokens} tokens`].filter(Boolean).join(" · ")}
          </p>
        </section>
      ))}
      {calls.map((group) => (
        <section class="block">
          <h3>{group.length > 1 ? `${group.length} tool calls side by side` : "Tool call"}</h3>
          {group.map((call) => (
            <CallBlock call={call} isLeft={step.left !== undefined} />
          ))}
        </section>
      ))}
      {waits.map((wait) => (
        <WaitBlock wait={wait} />
      ))}
      {answers.length + calls.length + waits.length === 0 && <p class="empty">No model answer, no tool calls.</p>}
    </>
  );
}

function Facts({ step }: { readonly step: TimelineStep }) {
  const facts: readonly (readonly [string, string | number | undefined])[] = [
    ["Ran", step.node],
    ["Next", step.ended === undefined ? step.next : undefined],
    ["Run ended", step.ended],
    ["Branch", step.branch],
    ["Moved by", step.by],
    ["Reason", step.reason],
    ["Summary", step.summary],
    ["Took", step.took ? durationText(step.took) : undefined],
    ["Tokens", step.tokens?.toLocaleString("en")],
    ["Cost", step.cost && costText(step.cost)],
    ["Tokens of the run", step.runTokens?.toLocaleString("en")],
    ["Iteration", step.iteration],
  ];
  return (
    <dl class="facts-list">
      {facts.map(([name, value]) =>
        value === undefined ? null : (
          <div>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

function CallBlock({ call, isLeft }: { readonly call: TimelineCall; readonly isLeft: boolean }) {
  const { tool, id, state, effect, input, output, note, stands } = call;
  return (
    <article class={`call-block ${state}`}>
      <h4>
        {state === "reverted" ? <s>{tool}</s> : tool} <StateLabel state={state} />
        {isLeft && stands && <span class="tag kept">effect stays</span>}
      </h4>
      <p class="label">{[effect && `effect: ${effect}`, note, id].filter(Boolean).join(" · ")}</p>
      <p class="label">Input</p>
      <TextBlock text={input} />
      {output !== undefined && (
        <>
          <p class="label">{state === "failed" ? "Error" : "Output"}</p>
          <TextBlock text={output} />
        </>
      )}
    </article>
  );
}

function WaitBlock({ wait }: { readonly wait: TimelineWait }) {
  const { what, asked, answer, state, by, askedAt, answeredAt } = wait;
  return (
    <section class="block">
      <h3>{what}</h3>
      <p class="label">{`Asked ${dateText(askedAt)}`}</p>
      <TextBlock text={asked} prose />
      <p class="label">
        {state === "open" ? "No answer yet" : `${state}${by === undefined ? "" : ` by ${by}`} ${dateText(answeredAt)}`}
      </p>
      {answer !== undefined && <TextBlock text={answer} />}
    </section>
  );
}
