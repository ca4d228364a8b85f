"""Writes the exam's input files into the current directory: texts, sources, sounds, pictures, genes.

Everything comes from one seeded generator, so that the same files are written everywhere. It must
not download anything or depend on packages outside the standard library.
"""

import array
import math
import os
import random

SEED = 5
MIB = 1 << 20

random.seed(SEED)


def write(path, data):
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    with open(path, "wb" if isinstance(data, bytes) else "w") as file:
        file.write(data)


def texts():
    """Texts of words whose frequencies fall as in English: 48 parts and prefixes of their sum."""
    letters = "etaoinshrdlucmfwypvbgkq"
    words = ["".join(random.choices(letters, k=random.randint(2, 11))) for _ in range(30_000)]
    weights = [1 / (rank + 5) for rank in range(len(words))]
    parts = []
    for part in range(48):
        chosen = random.choices(words, weights, k=150_000)
        lines = (" ".join(chosen[start : start + 9]) for start in range(0, len(chosen), 9))
        parts.append("\n".join(lines).encode())
        write(f"parts/{part:02}", parts[-1])
    whole = b"\n".join(parts)
    for size in (3, 10, 20, 40):
        write(f"text{size}", whole[: size * MIB])


def video():
    """48 frames of noise that moves, 640 by 352, uncompressed (YUV4MPEG2)."""
    width, height, frames = 640, 352, 48
    rows = [
        bytes((random.getrandbits(4) + int(100 + 60 * math.sin((x + row) / 23))) & 255 for x in range(width + 200))
        for row in range(64)
    ]
    data = [b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420\n" % (width, height)]
    for frame in range(frames):
        data.append(b"FRAME\n")
        for y in range(height):
            left = (frame * 3 + y // 9) % 150
            data.append(rows[(y * 7 + frame) % 64][left : left + width])
        for y in range(height):
            left = frame * 2
            data.append(rows[y * 3 % 64][left : left + width // 2])
    write("video.y4m", b"".join(data))


def picture():
    """Smooth colours with fine structure, 1600 by 1200 (PPM), and a quarter of it."""
    width, height = 1600, 1200

    def row(y, width):
        return bytes(
            int(127 + 120 * math.sin(x / 37 + y / (19 + colour * 5)) * math.cos(x * y / 90_000)) & 255
            for x in range(width)
            for colour in range(3)
        )

    write("picture.ppm", b"P6 %d %d 255\n" % (width, height) + b"".join(row(y, width) for y in range(height)))
    for number in range(16):
        body = b"".join(row(y + 37 * number, 400) for y in range(300))
        write(f"pictures/{number:02}.ppm", b"P6 400 300 255\n" + body)


def sound():
    """Four pieces of 60 seconds of chords with noise, mono, 16 bits, 44.1 kHz (WAV)."""
    rate, seconds = 44_100, 60
    for piece in range(4):
        tones = [220 * 2 ** (random.randint(0, 24) / 12) for _ in range(3)]
        one = [
            int(sum(6000 * math.sin(2 * math.pi * tone * t / rate) for tone in tones) + random.gauss(0, 300))
            for t in range(rate)
        ]
        samples = array.array("h", one * seconds).tobytes()
        header = b"RIFF" + (36 + len(samples)).to_bytes(4, "little") + b"WAVEfmt "
        header += (16).to_bytes(4, "little") + (1).to_bytes(2, "little") + (1).to_bytes(2, "little")
        header += rate.to_bytes(4, "little") + (2 * rate).to_bytes(4, "little")
        header += (2).to_bytes(2, "little") + (16).to_bytes(2, "little")
        write(f"sounds/{piece}.wav", header + b"data" + len(samples).to_bytes(4, "little") + samples)


def sources():
    """Programs to build: 48 files of C with a Makefile, 12 of C++ with Ninja, 24 packages of Go."""
    names = [f"part{number}" for number in range(48)]
    for name in names:
        functions = "".join(
            f"int {name}_{i}(int n) {{ int s = {i}; for (int k = 0; k < n; k++) "
            f"{{ if (k % {i + 2}) s += k * {i + 1}; else s ^= helper(s, k); }} return s; }}\n"
            for i in range(30)
        )
        write(f"c/{name}.c", f"static int helper(int a, int b) {{ return a * 31 + b; }}\n{functions}")
    objects = " ".join(f"{name}.o" for name in names)
    write(
        "c/Makefile",
        f"CFLAGS = -O2\nall.a: {objects}\n\tar rc $@ $^\nclean:\n\trm -f *.o all.a\n",
    )
    rules = "rule cxx\n  command = g++ -O1 -c $in -o $out\nrule ar\n  command = ar rc $out $in\n"
    for number in range(12):
        write(
            f"cxx/unit{number}.cc",
            "#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n"
            f"int unit{number}(int n) {{ std::map<std::string, std::vector<int>> m; "
            "for (int i = 0; i < n; i++) m[std::to_string(i % 7)].push_back(i); int s = 0; "
            "for (auto &e : m) { std::sort(e.second.begin(), e.second.end()); s += e.second.front(); } return s; }\n",
        )
        rules += f"build unit{number}.o: cxx unit{number}.cc\n"
    write("cxx/build.ninja", rules + "build all.a: ar " + " ".join(f"unit{n}.o" for n in range(12)) + "\n")
    write("go/go.mod", "module exam\n\ngo 1.19\n")
    imports, calls = "", ""
    for number in range(24):
        functions = "".join(
            f"func F{i}(n int) int {{ s := {i}; for k := 0; k < n; k++ "
            f"{{ if k%{i + 2} == 0 {{ s += k * {i + 1} }} else {{ s ^= s*31 + k }} }}; return s }}\n"
            for i in range(60)
        )
        write(f"go/p{number}/p.go", f"package p{number}\n{functions}")
        imports += f'import "exam/p{number}"\n'
        calls += f"p{number}.F1(3);"
    write("go/main.go", f"package main\n{imports}func main() {{ {calls} }}\n")


def genes():
    """A reference of DNA, reads of it with errors, and families of related sequences."""
    reference = "".join(random.choices("ACGT", k=400_000))
    write("reference.fa", ">reference\n" + reference + "\n")

    def mutate(sequence, letters, share):
        return "".join(random.choice(letters) if random.random() < share else letter for letter in sequence)

    reads = []
    for number in range(30_000):
        start = random.randrange(len(reference) - 150)
        read = mutate(reference[start : start + 150], "ACGT", 0.02)
        reads.append(f"@read{number}\n{read}\n+\n{'I' * 150}\n")
    write("reads.fq", "".join(reads))
    long = []
    for number in range(300):
        start = random.randrange(len(reference) - 8000)
        long.append(f">long{number}\n{mutate(reference[start : start + 8000], 'ACGT', 0.08)}\n")
    write("long.fa", "".join(long))
    ancestor = "".join(random.choices("ACDEFGHIKLMNPQRSTVWY", k=260))
    family = [f">p{n}\n{mutate(ancestor, 'ACDEFGHIKLMNPQRSTVWY', 0.35)}\n" for n in range(220)]
    write("proteins.fa", "".join(family))
    for count in (4, 20, 60):
        write(f"proteins{count}.fa", "".join(family[:count]))
    aligned = "".join(random.choices("ACGT", k=900))
    tree = [f">s{n}\n{mutate(aligned, 'ACGT', 0.15)}\n" for n in range(120)]
    write("aligned.fa", "".join(tree))


def scene():
    """A scene of 200 reflecting spheres for POV-Ray."""
    write(
        "scene.pov",
        "camera{location<0,2,-6> look_at 0} light_source{<5,9,-9> color rgb 1 area_light 2*x,2*y,4,4}\n"
        "#declare R=seed(4); #declare I=0; #while(I<200) sphere{<rand(R)*8-4,rand(R)*3-1,rand(R)*8-2>,.25 "
        "pigment{color rgb<rand(R),rand(R),rand(R)>} finish{reflection .4}} #declare I=I+1; #end\n"
        "plane{y,-1.2 pigment{checker color rgb 1 color rgb .2}}\n",
    )


def main():
    for make in (texts, video, picture, sound, sources, genes, scene):
        make()


main()
