import { useState } from "preact/hooks";
import { sizeText } from "../../layout/durations.ts";

/** As much of a text as is shown at first, in characters, and as much as is added at once. */
const portion = { first: 4_000, more: 200_000 };

/** Text from the log, as it is. A long one is shown in portions: a browser cannot lay out five megabytes at once. */
export function TextBlock({ text, prose = false }: { readonly text: string; readonly prose?: boolean }) {
  const [shown, setShown] = useState(portion.first);
  const rest = text.length - shown;
  return (
    <div class="text">
      <pre class={prose ? "prose" : "code"} tabIndex={-1}>
        {rest > 0 ? text.slice(0, shown) : text}
      </pre>
      {rest > 0 && (
        <button type="button" class="more" onClick={() => setShown(shown + portion.more)}>
          {`Show more (${sizeText(rest)} hidden)`}
        </button>
      )}
    </div>
  );
}
