import type { TimelineAgent } from "../data/TimelineData.ts";
import type { TimelineFilter } from "../layout/shownItems.ts";
import { stateNames, type StepState } from "../layout/stepState.ts";
import { Glyph } from "./list/Glyph.tsx";
import { dateText } from "./list/timeText.ts";

interface ToolbarProps {
  readonly agent: TimelineAgent;
  readonly filter: TimelineFilter;
  readonly tools: readonly string[];
  /** The states that occur: only they are offered. */
  readonly states: ReadonlySet<StepState>;
  /** How many items are to be seen of how many. */
  readonly counts: readonly [shown: number, all: number];
  /** Whether the page is told what is new. Absent: it is a file. */
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
];

/** The top of the page: which agent, how it is, and what is to be seen of it. */
export function Toolbar({ agent, filter, tools, states, counts, live, onFilter, onTheme }: ToolbarProps) {
  return (
    <header class="bar">
      <AgentHead agent={agent} live={live} onTheme={onTheme} />
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

function AgentHead({ agent, live, onTheme }: Pick<ToolbarProps, "agent" | "live" | "onTheme">) {
  return (
    <>
      <div class="who">
        <h1>{agent.id}</h1>
        <span class={`status ${agent.status}`}>{agent.status.replaceAll("_", " ")}</span>
        {live !== undefined && <span class={`live${live ? " on" : ""}`}>{live ? "live" : "not connected"}</span>}
        {agent.reason !== undefined && <span class="reason">{agent.reason.slice(0, 300)}</span>}
        <span class="filler" />
        <button type="button" class="theme" onClick={onTheme} aria-label="Change between light and dark">
          ◐
        </button>
      </div>
      <p class="notes">
        <span>{checkpointsText(agent)}</span>
        {agent.model !== undefined && <span>{agent.model}</span>}
        <span>{dateText(agent.at)}</span>
        <span class="hidden">{hiddenText(agent)}</span>
      </p>
    </>
  );
}

function toggled(all: ReadonlySet<StepState>, state: StepState): ReadonlySet<StepState> {
  const states = new Set(all);
  if (!states.delete(state)) states.add(state);
  return states;
}

function checkpointsText({ checkpoints, left }: TimelineAgent): string {
  const count = `${checkpoints.toLocaleString("en")} checkpoint${checkpoints === 1 ? "" : "s"}`;
  return left === 0 ? count : `${count}, the oldest ${left.toLocaleString("en")} are not on this page`;
}

/** What was hidden, so that nobody takes the page for the whole. */
function hiddenText({ hidden }: TimelineAgent): string {
  const { secrets, redacted, paths, idle, off } = hidden;
  const parts = [
    off ? "Secrets are not hidden" : `${secrets} value${secrets === 1 ? "" : "s"} hidden as likely secrets`,
    paths.length === 0 ? "" : `${redacted} redacted at ${paths.join(", ")}`,
    idle.length === 0 ? "" : `Nothing is at ${idle.join(", ")}`,
  ];
  return parts.filter(Boolean).join(" · ");
}
