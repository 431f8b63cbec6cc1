// Skeleton stands for content that is being loaded. It is shown only if that takes noticeable time,
// so that fast answers do not flicker.
import { useEffect, useState } from "preact/hooks";

// The time in milliseconds before it is shown. A person notices more than a tenth of a second.
const patience = 80;

interface Props {
  // rows is the number of lines; paragraphs is set for text instead of a list.
  rows?: number;
  text?: boolean;
}

export function Skeleton({ rows = 8, text }: Props) {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const t = setTimeout(() => setShown(true), patience);
    return () => clearTimeout(t);
  }, []);
  return (
    <div class={"skeleton-place" + (shown ? " skeleton" : "") + (text ? " skeleton-text" : "")} aria-busy="true">
      {shown && (
        <>
          <p class="sr" role="status">
            Loading…
          </p>
          {Array.from({ length: rows }, (_, i) => (
            <i key={i} />
          ))}
        </>
      )}
    </div>
  );
}
