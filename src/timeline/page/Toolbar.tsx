import type { TimelineAgent } from "../data/TimelineData.ts";
import { type TimelineFilter, stateNames, type StepState } from "../layout/shownItems.ts";
import { costText, durationText, dateText } from "../layout/durations.ts";
import { Glyph } from "./list/Glyph.tsx";

interface ToolbarProps {
  readonly agent: TimelineAgent;
  readonly filter: TimelineFilter;
  readonly tools: readonly string[];
  readonly states: ReadonlySet<StepState>;
  readonly counts: readonly [shown: number, all: number];
  /** Whether updates arrive. `undefined` for a static file. */
  readonly live?: boolean | undefined;
  readonly onFilter: (filter: TimelineFilter) => void;
  readonly onTheme: () => void;
}

const order: readonly StepState[] = [
  "succeeded",
  "irreversible",
  "failed",
  "in_doubt",
  "waiting",
  "running",
  "cut",
  "reverted",
  "kept",
];

export function Toolbar({ agent, filter, tools, states, counts, live, onFilter, onTheme }: ToolbarProps) {
  return (
    <header class="bar">
      <AgentHead agent={agent} items={counts[1]} live={live} onTheme={onTheme} />
      <div class="filters" role="search">
        <input
          type="search"
          id="search"
          aria-label="Search"
          placeholder="Search    /"
          value={filter.text}
          onKeyDown={({ key }) => key === "Escape" && onFilter({ ...filter, text: "" })}
          onInput={(event) => onFilter({ ...filter, text: event.currentTarget.value })}
        />
        {tools.length > 0 && (
          <select
            aria-label="Tool"
            value={filter.tool}
            onChange={(event) => onFilter({ ...filter, tool: event.currentTarget.value })}
          >
            <option value="">All tools</option>
            {tools.map((tool) => (
              <option value={tool}>{tool}</option>
            ))}
          </select>
        )}
        <div class="states" role="group" aria-label="States">
          {order
            .filter((state) => states.has(state))
            .map((state) => (
              <button
                type="button"
                class={`chip ${state}`}
                aria-pressed={filter.states.has(state)}
                onClick={() => onFilter({ ...filter, states: toggled(filter.states, state) })}
              >
                <Glyph of={state} />
                {stateNames[state]}
              </button>
            ))}
        </div>
        <output class="count">{counts[0] === counts[1] ? "" : `${counts[0]} of ${counts[1]}`}</output>
      </div>
    </header>
  );
}

interface AgentHeadProps extends Pick<ToolbarProps, "agent" | "live" | "onTheme"> {
  readonly items: number;
}

function AgentHead({ agent, items, live, onTheme }: AgentHeadProps) {
  return (
    <>
      <div class="who">
        <h1>{agent.id}</h1>
        <span class={`status ${agent.status}`}>{statusText(agent)}</span>
        {live !== undefined && <span class={`live${live ? " on" : ""}`}>{live ? "live" : "not connected"}</span>}
        {agent.reason !== undefined && <span class="reason">{agent.reason.slice(0, 300)}</span>}
        <span class="filler" />
        <button type="button" class="theme" onClick={onTheme} aria-label="Change between light and dark">
          ◐
        </button>
      </div>
      <Notes agent={agent} items={items} />
    </>
  );
}

function Notes({ agent, items }: Pick<AgentHeadProps, "agent" | "items">) {
  return (
    <p class="notes">
      <span>{agent.shape === undefined ? checkpointsText(agent) : counted(items, "append")}</span>
      {agent.worked !== undefined && agent.worked > 0 && <span>{`${durationText(agent.worked)} of work`}</span>}
      {agent.tokens !== undefined && <span>{counted(agent.tokens, "token")}</span>}
      {agent.cost !== undefined && <span>{costText(agent.cost)}</span>}
      {agent.model !== undefined && <span>{agent.model}</span>}
      <span>{dateText(agent.at)}</span>
      <span class="hidden">{hiddenText(agent)}</span>
    </p>
  );
}

function toggled(all: ReadonlySet<StepState>, state: StepState): ReadonlySet<StepState> {
  const states = new Set(all);
  if (!states.delete(state)) states.add(state);
  return states;
}

function statusText({ status, shape }: TimelineAgent): string {
  return shape === undefined ? status.replaceAll("_", " ") : (shapeNames[shape] ?? shape);
}

const shapeNames: Readonly<Record<string, string>> = {
  thread: "thread of LangGraph",
  session: "session of the OpenAI Agents SDK",
};

function counted(count: number, what: string): string {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}

function checkpointsText({ checkpoints, left }: TimelineAgent): string {
  const count = counted(checkpoints, "checkpoint");
  return left === 0 ? count : `${count}, the oldest ${left.toLocaleString("en")} are not on this page`;
}

/** Describes the hidden values, so that readers know that the page is incomplete. */
function hiddenText({ hidden }: TimelineAgent): string {
  const { secrets, redacted, paths, idle, off } = hidden;
  const parts = [
    off ? "Secrets are not hidden" : `${counted(secrets, "value")} hidden as likely secrets`,
    paths.length === 0 ? "" : `${redacted} redacted at ${paths.join(", ")}`,
    idle.length === 0 ? "" : `Nothing is at ${idle.join(", ")}`,
  ];
  return parts.filter(Boolean).join(" · ");
}
