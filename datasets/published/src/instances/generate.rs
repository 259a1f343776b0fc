//! Small sets of pictures in which rectangles of one colour are the things to be found.

use std::path::Path;

use jpeg_encoder::SamplingFactor;
use proctor_datasets::DatasetError;
use proctor_recipes::Stream;
use serde_json::{Value, json};

use crate::{
    generate::{Generate, make_folder, write_file},
    images::{Area, Coded, Picture},
    instances::collection::Collection,
};

/// Columns and rows of the cells that a picture is divided into; each has one box or none.
const CELLS: [usize; 2] = [3, 2];

/// Number of pixels between a box and the edge of its cell, so that the samples of two boxes never mix.
const MARGIN: usize = 8;

/// Shortest side of a box.
const SIDE_MIN: usize = 16;

/// Darkest level of a colour's parts, far above the background.
const LEVEL_MIN: u8 = 64;

/// The way in which the pictures of a collection are drawn.
pub(crate) struct Drawn<'a> {
    pub(crate) collection: &'a Collection,
    /// Ids and names, in the order of the list.
    pub(crate) categories: Vec<(u64, String)>,
    /// Numbers of levels of red, green and blue, whose product is at least the number of categories.
    pub(crate) levels: [u8; 3],
    /// The id of an image by its number.
    pub(crate) image_id: fn(u64) -> u64,
    /// The name of a picture by the id of its image.
    pub(crate) file_name: fn(u64) -> String,
}

impl Drawn<'_> {
    /// Makes the list and the pictures.
    pub(crate) fn generate(&self, folder: &Path, request: &Generate) -> Result<(), DatasetError> {
        request.begin(folder)?;
        let stream = Stream::new(request.seed, self.collection.list);
        let (mut images, mut annotations) = (Vec::new(), Vec::<Value>::new());
        for number in 0..request.sample_count {
            let stream = stream.of_sample(number);
            let [width, height] = [0, 1].map(|position| 240 + stream.below(position, 401) as usize);
            let (id, mut picture) =
                ((self.image_id)(number), Picture::dark(width, height, stream.of_sample(0)));
            for (category, area) in self.boxes(number, width, height, stream) {
                picture.fill(area, self.colour(category));
                let annotation_id = annotations.len() as u64 + 1;
                annotations.push(annotation(annotation_id, id, self.categories[category].0, area));
            }
            let file_name = (self.file_name)(id);
            images.push(json!({ "id": id, "file_name": file_name, "width": width, "height": height }));
            let path = folder.join(self.collection.pictures).join(file_name);
            make_folder(path.parent().expect("a picture lies in a folder"))?;
            let samplings = [SamplingFactor::F_2_2, SamplingFactor::F_1_1, SamplingFactor::F_2_1];
            let coded = Coded {
                sampling: samplings[(number % 3) as usize],
                is_progressive: number % 8 == 2,
                is_grey: false,
                is_turned: false,
            };
            write_file(&path, &picture.encode(coded))?;
        }
        let categories = self.categories.iter().map(|(id, name)| json!({ "id": id, "name": name }));
        let list = json!({
            "info": { "description": "generated", "seed": request.seed },
            "images": images,
            "annotations": annotations,
            "categories": categories.collect::<Vec<_>>(),
        });
        let path = folder.join(self.collection.list);
        make_folder(path.parent().expect("the list lies in a folder"))?;
        write_file(&path, list.to_string().as_bytes())
    }

    /// Returns the boxes of a picture: place of the category in the list, and place in the picture.
    fn boxes(&self, number: u64, width: usize, height: usize, stream: Stream) -> Vec<(usize, Area)> {
        if number % 8 == 5 {
            return Vec::new();
        }
        let count = u32::try_from(self.categories.len()).expect("there are a few hundred");
        let cell_size = [width / CELLS[0], height / CELLS[1]];
        let in_cell = |cell: usize| {
            let stream = stream.of_sample(1 + cell as u64);
            let below = |position, count: usize| {
                stream.below(position, u32::try_from(count).expect("a side has 16 bits")) as usize
            };
            let [side_x, side_y] = cell_size.map(|side| side - 2 * MARGIN);
            let area_width = SIDE_MIN + below(1, side_x - SIDE_MIN + 1);
            let area_height = SIDE_MIN + below(2, side_y - SIDE_MIN + 1);
            let area = Area {
                left: cell % CELLS[0] * cell_size[0] + MARGIN + below(3, side_x - area_width + 1),
                top: cell / CELLS[0] * cell_size[1] + MARGIN + below(4, side_y - area_height + 1),
                width: area_width,
                height: area_height,
            };
            // The first cell always has one, so that no other image than those above is without.
            let is_filled = cell == 0 || stream.below(0, 2) == 0;
            is_filled.then(|| (stream.below(5, count) as usize, area))
        };
        (0..CELLS[0] * CELLS[1]).filter_map(in_cell).collect()
    }

    /// Returns the colour of the category at this place of the list: the digits of the place, each in its number of
    /// levels.
    fn colour(&self, place: usize) -> [u8; 3] {
        let [_, green, blue] = self.levels.map(usize::from);
        let digits = [place / (green * blue), place / blue % green, place % blue];
        [0, 1, 2].map(|part| {
            let step = (u8::MAX - LEVEL_MIN) / (self.levels[part] - 1);
            LEVEL_MIN + step * u8::try_from(digits[part]).expect("a digit is below its number of levels")
        })
    }
}

fn annotation(id: u64, image_id: u64, category_id: u64, area: Area) -> Value {
    let Area { left, top, width, height } = area;
    let (right, bottom) = (left + width, top + height);
    json!({
        "id": id,
        "image_id": image_id,
        "category_id": category_id,
        "bbox": [left, top, width, height],
        "area": width * height,
        "iscrowd": 0,
        "segmentation": [[left, top, right, top, right, bottom, left, bottom]],
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::{coco, generate::Generate, open_images};

    #[test]
    fn equal_requests_make_equal_bytes() {
        let make = |seed| {
            let folder = tempfile::tempdir().unwrap();
            coco::generate(folder.path(), &Generate { seed, sample_count: 3 }).unwrap();
            let paths = ["annotations/instances_val2017.json", "val2017/000000000431.jpg"];
            paths.map(|path| fs::read(folder.path().join(path)).unwrap())
        };
        let [list, picture] = make(1);
        assert!([&list, &picture] == make(1).each_ref());
        let [other, _] = make(2);
        assert_ne!(list, other);
    }

    #[test]
    fn boxes_lie_in_their_pictures_and_do_not_touch() {
        let folder = tempfile::tempdir().unwrap();
        open_images::generate(folder.path(), &Generate { seed: 5, sample_count: 8 }).unwrap();
        let list = fs::read(folder.path().join("annotations/openimages-mlperf.json")).unwrap();
        let list: serde_json::Value = serde_json::from_slice(&list).unwrap();
        let (images, annotations) =
            (list["images"].as_array().unwrap(), list["annotations"].as_array().unwrap());
        assert!(annotations.len() > 10);
        for image in images {
            let of_image = annotations.iter().filter(|annotation| annotation["image_id"] == image["id"]);
            let boxes: Vec<_> = of_image
                .map(|annotation| [0, 1, 2, 3].map(|side| annotation["bbox"][side].as_u64().unwrap()))
                .collect();
            for (place, [left, top, width, height]) in boxes.iter().enumerate() {
                assert!(left + width < image["width"].as_u64().unwrap());
                assert!(top + height < image["height"].as_u64().unwrap());
                let is_apart = |[x, y, w, h]: &[u64; 4]| {
                    x + w < *left || left + width < *x || y + h < *top || top + height < *y
                };
                assert!(boxes[..place].iter().all(is_apart), "{boxes:?}");
            }
        }
    }
}
