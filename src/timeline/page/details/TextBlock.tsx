import { useState } from "preact/hooks";
import { sizeText } from "../../layout/durations.ts";

/** The number of characters that are shown first and added at once. */
const portion = { first: 4_000, more: 200_000 };

/** Unchanged text from the log. Long text is shown in portions, because browsers cannot lay out megabytes at once. */
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
