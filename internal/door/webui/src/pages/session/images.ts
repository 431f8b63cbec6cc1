// Images to send with a message.
import { Problem } from "../../api";
import { bytes } from "../../format";
import type { Image } from "../../wire";

export const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const largest = 8 << 20;

export interface Picked extends Image {
  name: string;
  size: number;
}

function refuse(message: string): Problem {
  return new Problem(0, { kind: "invalid", message });
}

// pick reads an image file.
export function pick(f: File): Promise<Picked> {
  return new Promise((resolve, reject) => {
    if (!imageTypes.includes(f.type)) return reject(refuse(`${f.name} is not a PNG, JPEG, GIF or WebP image`));
    if (f.size > largest) return reject(refuse(`${f.name} is ${bytes(f.size)}; the limit is ${bytes(largest)}`));
    const reader = new FileReader();
    reader.onerror = () => reject(refuse(`${f.name} cannot be read`));
    reader.onload = () => {
      const url = String(reader.result);
      resolve({ name: f.name || "image", size: f.size, mimeType: f.type, data: url.slice(url.indexOf(",") + 1) });
    };
    reader.readAsDataURL(f);
  });
}

// pickedAgain returns an image of a message that was not sent.
export function pickedAgain(image: { mimeType: string; data: string }): Picked {
  return { ...image, name: "image", size: Math.round((image.data.length * 3) / 4) };
}
