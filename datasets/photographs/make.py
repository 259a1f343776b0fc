"""Makes the photographs of this folder from those in two packages, and the list of boxes.

The pictures of scikit-image that are PNG files are coded as JPEG; the others are copied byte for byte. Classes are in
classes.txt, and the boxes below were read off the pictures by hand.

Usage: make.py FOLDER, with scikit_image-0.25.2 and scikit_learn unpacked below it, and Pillow 13.0.0 installed
"""

import json
import pathlib
import shutil
import sys

from PIL import Image

HERE = pathlib.Path(__file__).parent
CODED = ["astronaut.png", "camera.png", "chelsea.png", "coffee.png"]
COPIED = ["skimage/data/rocket.jpg", "sklearn/datasets/images/china.jpg", "sklearn/datasets/images/flower.jpg"]

# COCO's names by their ids, from 1; ids without a name are not in use.
NAMES = (
    "person,bicycle,car,motorcycle,airplane,bus,train,truck,boat,traffic light,fire hydrant,,stop sign,parking meter,"
    "bench,bird,cat,dog,horse,sheep,cow,elephant,bear,zebra,giraffe,,backpack,umbrella,,,handbag,tie,suitcase,"
    "frisbee,skis,snowboard,sports ball,kite,baseball bat,baseball glove,skateboard,surfboard,tennis racket,bottle,,"
    "wine glass,cup,fork,knife,spoon,bowl,banana,apple,sandwich,orange,broccoli,carrot,hot dog,pizza,donut,cake,"
    "chair,couch,potted plant,bed,,dining table,,,toilet,,tv,laptop,mouse,remote,keyboard,cell phone,microwave,oven,"
    "toaster,sink,refrigerator,,book,clock,vase,scissors,teddy bear,hair drier,toothbrush"
)
CATEGORIES = {number: name for number, name in enumerate(NAMES.split(","), 1) if name}

# Left, upper, width and height in pixels. In china.jpg are boats too small to be told apart, so it is not here; nothing
# that COCO names is in flower.jpg and rocket.jpg.
BOXES = {
    "astronaut.jpg": [(1, [20, 16, 343, 496])],
    "camera.jpg": [(1, [0, 65, 331, 447])],
    "chelsea.jpg": [(17, [0, 0, 393, 300])],
    "coffee.jpg": [(47, [173, 17, 231, 292]), (50, [318, 66, 107, 260]), (67, [0, 0, 600, 400])],
    "flower.jpg": [],
    "rocket.jpg": [],
}


def main():
    packages = pathlib.Path(sys.argv[1])
    for name in CODED:
        picture = Image.open(next(packages.glob(f"**/skimage/data/{name}")))
        picture.save(HERE / name.replace(".png", ".jpg"), quality=92, subsampling=0, optimize=True)
    for path in COPIED:
        shutil.copyfile(next(packages.glob(f"**/{path}")), HERE / pathlib.Path(path).name)
    images, annotations = [], []
    for number, (name, boxes) in enumerate(BOXES.items(), 1):
        width, height = Image.open(HERE / name).size
        images.append({"id": number, "file_name": name, "width": width, "height": height})
        for category, box in boxes:
            entry = {"id": len(annotations) + 1, "image_id": number, "category_id": category, "bbox": box}
            annotations.append({**entry, "area": box[2] * box[3], "iscrowd": 0})
    categories = [{"id": number, "name": name} for number, name in CATEGORIES.items()]
    lists = {"images": images, "annotations": annotations, "categories": categories}
    texts = {key: ",\n".join(json.dumps(entry) for entry in entries) for key, entries in lists.items()}
    lines = [f'"{key}": [\n{text}\n]' for key, text in texts.items()]
    (HERE / "boxes.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
